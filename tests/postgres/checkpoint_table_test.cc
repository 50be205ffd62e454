// What shows without a server; the rest is in tests/e2e.
#include "postgres/checkpoint_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace walpost {
namespace {

using ::testing::HasSubstr;

// Nobody listens there.
constexpr char kUnreachable[] = "host=127.0.0.1 port=1 dbname=d user=u";

TEST(CheckpointTableTest, WithoutAServerItIsUnavailable) {
  boost::asio::io_context io(1);
  const ServerOptions server{kUnreachable, {}};
  CheckpointTable store(io.get_executor(), server, "walpost", "a.b");
  std::vector<absl::Status> results;
  store.Load([&](auto loaded) { results.push_back(loaded.status()); });
  io.run();
  store.Save(Checkpoint(),
             [&](absl::Status saved) { results.push_back(std::move(saved)); });
  io.restart();
  io.run();
  ASSERT_EQ(results.size(), 2u);
  for (const absl::Status& status : results) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("table a.b"));
  }
}

TEST(CheckpointTableTest, CallsNobodyBackAfterItsEnd) {
  boost::asio::io_context io(1);
  auto store = std::make_unique<CheckpointTable>(
      io.get_executor(), ServerOptions{kUnreachable, {}}, "walpost", "a.b");
  bool called = false;
  store->Load([&](const auto&) { called = true; });
  store.reset();
  io.run();
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace walpost
