#include "nats/nats_sink.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "nats/nats_server.h"
#include "support/sink_contract.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr Sequence kRecords = 20;

class NatsSinkTest : public ::testing::Test {
 protected:
  void Start(bool one_at_a_time = false) {
    NatsOptions options;
    options.servers = server_.url();
    options.one_at_a_time = one_at_a_time;
    auto made = NatsSink::Create(
        io_.get_executor(), options, reports_, [] {}, known_,
        std::make_shared<CauseLog>());
    ASSERT_TRUE(made.ok()) << made.status();
    sink_ = *std::move(made);
  }

  absl::Status Offer(Sequence sequence, const std::string& key,
                     const std::string& value) {
    Record record;
    record.topic = "t.a";
    record.key = key;
    record.value = value;
    record.timestamp = WallNow();
    return sink_->Produce(record, sequence);
  }

  // Offers it again until it is taken, or is not.
  absl::Status Produce(Sequence sequence, const std::string& key,
                       const std::string& value) {
    absl::Status status;
    TurnUntil([&] {
      status = Offer(sequence, key, value);
      return !absl::IsResourceExhausted(status);
    });
    return status;
  }

  template <typename Condition>
  void TurnUntil(Condition condition) {
    const MonotonicTime limit = Clock::now() + seconds(20);
    while (!condition()) {
      ASSERT_LT(Clock::now(), limit);
      io_.restart();
      io_.run_for(milliseconds(5));
    }
  }

  void Close() {
    bool closed = false;
    sink_->Close(Clock::now() + seconds(5), [&closed] { closed = true; });
    TurnUntil([&] { return closed; });
  }

  testing::NatsServer server_;
  boost::asio::io_context io_{1};
  testing::CountingReports reports_;
  std::shared_ptr<KnownStreams> known_ = std::make_shared<KnownStreams>();
  std::unique_ptr<NatsSink> sink_;
};

TEST_F(NatsSinkTest, P3NothingOfAKeyFollowsARejectedRecord) {
  server_.MakeStream("S", "t.>", R"(,"discard":"new","max_msgs":5)");
  Start();
  for (Sequence i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(Produce(i, "k", "v").ok() || !reports_.not_delivered.ok());
  }
  TurnUntil([&] { return !reports_.not_delivered.ok(); });
  EXPECT_TRUE(absl::IsAborted(reports_.not_delivered))
      << reports_.not_delivered;
  EXPECT_FALSE(reports_.failure.ok()) << "the owner must replace the sink";
  EXPECT_EQ(reports_.acknowledged, 5u);
  EXPECT_TRUE(absl::IsAborted(Offer(kRecords, "other", "v")));
  server_.Ask("$JS.API.STREAM.PURGE.S", "");
  const MonotonicTime begun = Clock::now();
  Close();
  EXPECT_LT(Clock::now() - begun, seconds(4)) << "nothing is on its way";
  EXPECT_EQ(reports_.acknowledged, 5u) << "there would be room again";
  for (const auto& [sequence, count] : reports_.reported) EXPECT_EQ(count, 1);
}

TEST_F(NatsSinkTest, ARecordThatTheStreamRejectsForItsSizeIsUndeliverable) {
  server_.MakeStream("S", "t.>");
  Start(/*one_at_a_time=*/true);
  ASSERT_TRUE(Produce(0, "k", "v").ok());
  TurnUntil([&] { return reports_.acknowledged == 1; });
  // The sink has not looked again yet.
  server_.Ask("$JS.API.STREAM.UPDATE.S",
              R"({"name":"S","subjects":["t.>"],"storage":"file",)"
              R"("num_replicas":1,"max_msg_size":300})");
  ASSERT_TRUE(Produce(1, "k", std::string(1'000, 'x')).ok());
  TurnUntil([&] { return !reports_.not_delivered.ok(); });
  EXPECT_TRUE(absl::IsInvalidArgument(reports_.not_delivered))
      << reports_.not_delivered;
  EXPECT_EQ(sink_->after_rejection(), RecordSink::AfterRejection::kGoesOnAlone);
  ASSERT_TRUE(Produce(2, "k", "v").ok());
  TurnUntil([&] { return reports_.acknowledged == 2; });
}

TEST_F(NatsSinkTest, P9TheStreamOfTheEventsIsKnownToTheNextSink) {
  server_.MakeStream("S", "t.>");
  Start();
  ASSERT_TRUE(Produce(0, "k", "v").ok());
  TurnUntil([&] { return reports_.acknowledged == 1; });
  EXPECT_TRUE(known_->Knows("S"));
  Close();
  server_.Ask("$JS.API.STREAM.DELETE.S", "");
  server_.MakeStream("S", "t.>");
  Start();
  sink_->ExpectTopics();
  TurnUntil([&] {
    EXPECT_FALSE(Offer(1, "k", "v").ok());
    return !known_->replaced().empty();
  });
  EXPECT_FALSE(Offer(1, "k", "v").ok());
}

TEST_F(NatsSinkTest, AServerThatGoesIsAFailureOfTheSink) {
  server_.MakeStream("S", "t.>");
  Start();
  ASSERT_TRUE(Produce(0, "k", "v").ok());
  TurnUntil([&] { return reports_.acknowledged == 1; });
  server_.Kill();
  TurnUntil([&] { return !reports_.failure.ok(); });
  EXPECT_TRUE(absl::IsUnavailable(reports_.failure)) << reports_.failure;
  EXPECT_EQ(sink_->Health().brokers_up, 0u);
  EXPECT_NE(sink_->Health().trouble, "");
}

}  // namespace
}  // namespace walpost
