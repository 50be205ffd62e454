// What shows without a broker; the rest is in tests/e2e.
#include "kafka/checkpoint_topic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace walpost {
namespace {

using ::testing::HasSubstr;

// Nobody listens there.
ProducerOptions Unreachable() {
  ProducerOptions options;
  options.brokers = "127.0.0.1:1";
  return options;
}

Checkpoint Example() {
  Checkpoint checkpoint;
  checkpoint.system_identifier = "7";
  checkpoint.timeline = 1;
  checkpoint.slot = "walpost";
  return checkpoint;
}

TEST(CheckpointTopicTest, APropertyThatIsMalformedNamesItself) {
  boost::asio::io_context io(1);
  ProducerOptions options = Unreachable();
  options.properties.emplace_back("security.protocol", "hunter2");
  CheckpointTopic store(io.get_executor(), options, "t", "walpost");
  absl::Status status;
  store.Load([&](auto loaded) { status = loaded.status(); });
  io.run();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("topic t"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("security.protocol"));
}

TEST(CheckpointTopicTest, EndsSoonAndSilentlyWhileItLooksForBrokers) {
  boost::asio::io_context io(1);
  auto store = std::make_unique<CheckpointTopic>(io.get_executor(),
                                                 Unreachable(), "t", "walpost");
  bool called = false;
  store->Save(Example(), [&](const absl::Status&) { called = true; });
  const auto begin = std::chrono::steady_clock::now();
  store.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  io.run();
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace walpost
