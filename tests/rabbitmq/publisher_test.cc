// A sink between records and a server that says what a test wants: alarms,
// logins, confirmations that do not come, and the end.
#include "rabbitmq/publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "rabbitmq/fake_rabbitmq.h"

namespace walpost::rabbitmq {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class Reports final : public RecordReports {
 public:
  void OnAcknowledged(Sequence, WallTime) override { ++acknowledged; }
  void OnNotDelivered(Sequence, const absl::Status& error) override {
    not_delivered.push_back(error);
  }
  void OnSinkFailed(const absl::Status& error) override { failure = error; }
  void OnCapacity() override { ++capacity; }

  size_t acknowledged = 0;
  std::vector<absl::Status> not_delivered;
  absl::Status failure;
  size_t capacity = 0;
};

class PublisherTest : public ::testing::Test {
 protected:
  PublisherTest() { options_.nodes = server_.address(); }

  void Start() {
    auto made = Publisher::Create(
        io_.get_executor(), options_, reports_, [this] { ++drained_; }, turn_);
    ASSERT_TRUE(made.ok()) << made.status();
    publisher_ = *std::move(made);
  }
  void StartAndConnect() {
    Start();
    TurnUntil([this] { return publisher_->Health().brokers_up == 1; });
  }
  absl::Status Produce(Sequence sequence, const std::string& key = "k") {
    Record record;
    record.topic = "orders";
    record.key = key;
    record.value = "v";
    record.timestamp = WallNow();
    return publisher_->Produce(record, sequence);
  }
  void Turn(milliseconds time) {
    io_.restart();
    io_.run_for(time);
  }
  template <typename Condition>
  void TurnUntil(Condition is_done) {
    const MonotonicTime limit = Clock::now() + seconds(20);
    while (!is_done() && Clock::now() < limit) Turn(milliseconds(2));
    EXPECT_TRUE(is_done()) << publisher_->Health().trouble;
  }
  bool Close(milliseconds limit) {
    auto closed = std::make_shared<bool>(false);
    publisher_->Close(Clock::now() + limit, [closed] { *closed = true; });
    TurnUntil([&] { return *closed; });
    return *closed;
  }

  boost::asio::io_context io_{1};
  FakeRabbitmq server_{io_};
  RabbitmqOptions options_;
  Reports reports_;
  size_t drained_ = 0;
  ServerTurn turn_ = std::make_shared<size_t>(0);
  std::unique_ptr<Publisher> publisher_;
};

TEST_F(PublisherTest, AConfirmedMessageIsAcknowledged) {
  StartAndConnect();
  EXPECT_GT(reports_.capacity, 0u);
  ASSERT_TRUE(Produce(1).ok());
  ASSERT_TRUE(Produce(2).ok());
  TurnUntil([this] { return reports_.acknowledged == 2; });
  EXPECT_EQ(server_.published(), 2u);
  const SinkHealth health = publisher_->Health();
  EXPECT_EQ(health.trouble, "");
  EXPECT_EQ(health.cluster_id, "unnamed:rabbitmq");
  EXPECT_GT(health.heard_at, MonotonicTime());
  EXPECT_GT(drained_, 0u);
}

// They are not late: nothing is confirmed until somebody has made room.
TEST_F(PublisherTest, P10AnAlarmHoldsUpRecordsAndIsNamed) {
  options_.confirm_timeout = seconds(0);
  server_.Confirm(false);
  StartAndConnect();
  server_.Send(BlockedFrame("low on memory"));
  TurnUntil([this] { return !publisher_->Health().trouble.empty(); });
  EXPECT_THAT(publisher_->Health().trouble,
              HasSubstr("an alarm is on (low on memory)"));
  const absl::Status refused = Produce(1);
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("low on memory"));
  const size_t capacity = reports_.capacity;
  Turn(milliseconds(600));
  EXPECT_TRUE(reports_.failure.ok()) << reports_.failure;
  EXPECT_EQ(reports_.capacity, capacity);
  server_.Confirm(true);
  server_.Send(UnblockedFrame());
  TurnUntil([&] { return reports_.capacity > capacity; });
  EXPECT_EQ(publisher_->Health().trouble, "");
  ASSERT_TRUE(Produce(1).ok());
  TurnUntil([this] { return reports_.acknowledged == 1; });
}

TEST_F(PublisherTest, P10AMessageThatWasSentBeforeTheAlarmIsNotLate) {
  options_.confirm_timeout = seconds(1);
  server_.Confirm(false);
  StartAndConnect();
  ASSERT_TRUE(Produce(1).ok());
  TurnUntil([this] { return server_.published() == 1; });
  server_.Send(BlockedFrame("low on disk"));
  Turn(milliseconds(1'700));
  EXPECT_TRUE(reports_.failure.ok()) << reports_.failure;
  server_.Send(AckFrame(1));
  TurnUntil([this] { return reports_.acknowledged == 1; });
}

TEST_F(PublisherTest, P1WhatIsNotConfirmedIsForTheNextSink) {
  options_.confirm_timeout = seconds(0);
  server_.Confirm(false);
  StartAndConnect();
  ASSERT_TRUE(Produce(1, "a").ok());
  ASSERT_TRUE(Produce(2, "b").ok());
  TurnUntil([this] { return !reports_.failure.ok(); });
  EXPECT_TRUE(absl::IsUnavailable(reports_.failure)) << reports_.failure;
  EXPECT_THAT(std::string(reports_.failure.message()),
              HasSubstr("has not confirmed a message with routing key "
                        "\"orders\""));
  ASSERT_EQ(reports_.not_delivered.size(), 2u);
  EXPECT_TRUE(absl::IsAborted(reports_.not_delivered[0]));
  EXPECT_TRUE(absl::IsAborted(Produce(3)));
  EXPECT_EQ(publisher_->Health().brokers_up, 0u);
}

TEST_F(PublisherTest, P1ANackIsSentAgain) {
  server_.Confirm(false);
  StartAndConnect();
  ASSERT_TRUE(Produce(1).ok());
  TurnUntil([this] { return server_.published() == 1; });
  server_.Send(NackFrame(1));
  TurnUntil([this] { return !publisher_->Health().trouble.empty(); });
  EXPECT_THAT(publisher_->Health().trouble, HasSubstr("(basic.nack)"));
  server_.Confirm(true);
  TurnUntil([this] { return reports_.acknowledged == 1; });
  EXPECT_EQ(server_.published(), 2u);
  EXPECT_EQ(publisher_->Health().trouble, "");
}

TEST_F(PublisherTest, P10ALoginThatWorksAgainIsNotRejectedAnyMore) {
  server_.RefuseLogins(true);
  Start();
  TurnUntil([this] { return publisher_->Health().rejects_credentials; });
  EXPECT_NE(publisher_->Health().trouble, "");
  EXPECT_EQ(publisher_->Health().brokers_up, 0u);
  EXPECT_TRUE(absl::IsResourceExhausted(Produce(1)));
  server_.RefuseLogins(false);
  TurnUntil([this] { return publisher_->Health().brokers_up == 1; });
  EXPECT_FALSE(publisher_->Health().rejects_credentials);
  EXPECT_EQ(publisher_->Health().trouble, "");
  EXPECT_TRUE(reports_.failure.ok());
}

TEST_F(PublisherTest, ServersAreTriedInTurnAndAllOfThemAgainAfterAPause) {
  options_.nodes = "127.0.0.1:1, 127.0.0.1:2, " + server_.address();
  StartAndConnect();
  EXPECT_EQ(*turn_, 2u);
  EXPECT_EQ(server_.connections(), 1u);
  publisher_.reset();
  options_.nodes = "127.0.0.1:1, 127.0.0.1:2";
  *turn_ = 0;
  Start();
  TurnUntil([this] { return *turn_ >= 2; });
  const MonotonicTime failed_at = Clock::now();
  TurnUntil([this] { return *turn_ >= 3; });
  EXPECT_GE(Clock::now() - failed_at, milliseconds(20)) << "50 at least";
}

TEST_F(PublisherTest, P10ClosingWaitsForWhatIsOnItsWay) {
  server_.Confirm(false);
  StartAndConnect();
  ASSERT_TRUE(Produce(1).ok());
  TurnUntil([this] { return server_.published() == 1; });
  auto closed = std::make_shared<bool>(false);
  publisher_->Close(Clock::now() + seconds(10), [closed] { *closed = true; });
  EXPECT_TRUE(absl::IsResourceExhausted(Produce(2)));
  Turn(milliseconds(50));
  EXPECT_FALSE(*closed);
  server_.Send(AckFrame(1));
  TurnUntil([&] { return *closed; });
  EXPECT_EQ(reports_.acknowledged, 1u);
  EXPECT_TRUE(server_.was_closed_in_order());
  EXPECT_TRUE(reports_.failure.ok());
}

TEST_F(PublisherTest, P10ClosingGivesUpAtTheDeadline) {
  server_.Confirm(false);
  StartAndConnect();
  ASSERT_TRUE(Produce(1).ok());
  TurnUntil([this] { return server_.published() == 1; });
  EXPECT_TRUE(Close(milliseconds(50)));
  ASSERT_EQ(reports_.not_delivered.size(), 1u);
  EXPECT_TRUE(absl::IsAborted(reports_.not_delivered[0]));
  EXPECT_EQ(reports_.acknowledged, 0u);
}

TEST_F(PublisherTest, P10ClosingWithoutAServerTakesNoTime) {
  options_.nodes = "127.0.0.1:1";
  Start();
  const MonotonicTime begin = Clock::now();
  EXPECT_TRUE(Close(seconds(10)));
  EXPECT_LT(Clock::now() - begin, seconds(2));
}

// Events would go to brokers that do not have the ones before.
TEST_F(PublisherTest, P9AnotherClusterTakesNothing) {
  StartAndConnect();
  publisher_->ExpectCluster("rabbitmq:shop");
  const absl::Status refused = Produce(1);
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("not of rabbitmq:shop"));
  publisher_->ExpectCluster("unnamed:rabbitmq");
  EXPECT_TRUE(Produce(1).ok());
}

TEST_F(PublisherTest, AServerThatGoesIsAFailureOfTheSink) {
  StartAndConnect();
  server_.Send(CloseFrame(320, "CONNECTION_FORCED - shutdown", false));
  TurnUntil([this] { return !reports_.failure.ok(); });
  EXPECT_TRUE(absl::IsAborted(reports_.failure)) << reports_.failure;
}

TEST_F(PublisherTest, AMissingRightNeedsAnOperator) {
  StartAndConnect();
  server_.Send(CloseFrame(403, "ACCESS_REFUSED - write access to exchange"));
  TurnUntil([this] { return !reports_.failure.ok(); });
  EXPECT_TRUE(absl::IsFailedPrecondition(reports_.failure)) << reports_.failure;
}

}  // namespace
}  // namespace walpost::rabbitmq
