#include "rabbitmq/records_in_flight.h"

#include <gtest/gtest.h>

#include <string>

#include "base/reason_code.h"
#include "fmt/format.h"

namespace walpost::rabbitmq {
namespace {

using std::chrono::seconds;

class RecordsInFlightTest : public ::testing::Test {
 protected:
  void Add(Sequence sequence, const std::string& key) {
    Message message;
    message.frames = std::to_string(sequence);
    message.routing_key = "t";
    message.body_bytes = 100 + sequence;
    message.identity = 1000 + sequence;
    records_.Add(sequence, "t", KeyOrder::LaneOf("t", Value(key)),
                 std::move(message));
  }
  // The frames that are sent now.
  std::string Sent() {
    std::string text;
    while (const Message* message = records_.NextToSend(now_)) {
      text += message->frames + " ";
    }
    return text;
  }
  std::string Ack(uint64_t tag, bool is_multiple = false) {
    return Text(records_.OnAck({tag, is_multiple, false}, now_));
  }
  std::string Nack(uint64_t tag) {
    return Text(records_.OnAck({tag, false, true}, now_));
  }
  static std::string Text(
      const absl::StatusOr<RecordsInFlight::Reports>& reports) {
    std::string text;
    for (const RecordsInFlight::Report& report : *reports) {
      text +=
          fmt::format("{}{} ", report.sequence,
                      report.status.ok()                                 ? "+"
                      : absl::IsAborted(report.status)                   ? "!"
                      : ReasonCodeOf(report.status) == kReasonUnroutable ? "?"
                                                                         : "-");
    }
    return text;
  }

  RecordsInFlight records_;
  MonotonicTime now_ = MonotonicTime(seconds(100));
};

TEST_F(RecordsInFlightTest, P3OneMessageOfAKeyIsOnItsWay) {
  Add(1, "a");
  Add(2, "a");
  Add(3, "b");
  EXPECT_EQ(Sent(), "1 3 ");
  EXPECT_EQ(Ack(2), "3+ ");
  EXPECT_EQ(Sent(), "");
  EXPECT_EQ(Ack(1), "1+ ");
  EXPECT_EQ(Sent(), "2 ");
  EXPECT_EQ(Ack(3), "2+ ");
  EXPECT_TRUE(records_.empty());
  EXPECT_EQ(records_.bytes(), 0u);
}

TEST_F(RecordsInFlightTest, P1P3ANackIsSentAgainBeforeWhatWaitsBehindIt) {
  Add(1, "a");
  Add(2, "a");
  Add(3, "b");
  EXPECT_EQ(Sent(), "1 3 ");
  EXPECT_EQ(Nack(1), "");
  EXPECT_EQ(Ack(2), "3+ ") << "another key goes on";
  EXPECT_EQ(Sent(), "") << "not at once";
  EXPECT_EQ(records_.MostRejected()->routing_key, "t");
  EXPECT_EQ(records_.MostRejected()->times, 1);
  now_ += seconds(2);
  EXPECT_EQ(Sent(), "1 ");
  EXPECT_FALSE(records_.MostRejected());
  EXPECT_EQ(Ack(3), "1+ ");
  EXPECT_EQ(Sent(), "2 ");
}

// One that is rejected for ever waits longer and longer, behind others that
// have been rejected once: it is the one that the channel is judged by.
TEST_F(RecordsInFlightTest, TheMostRejectedIsKnownWhateverComesBetween) {
  Add(1, "a");
  for (uint64_t tag = 1; tag <= 4; ++tag) {
    EXPECT_EQ(Sent(), "1 ");
    Nack(tag);
    EXPECT_EQ(Sent(), "") << "not at once";
    now_ += seconds(tag == 4 ? 1 : 10);
  }
  Add(2, "b");
  EXPECT_EQ(Sent(), "2 ") << "after 8 s, not yet";
  Nack(5);
  EXPECT_EQ(records_.MostRejected()->times, 4);
}

TEST_F(RecordsInFlightTest, P3NothingFollowsAMessageWithoutAQueue) {
  Add(1, "a");
  Add(2, "a");
  Add(3, "a");
  Add(4, "b");
  EXPECT_EQ(Sent(), "1 4 ");
  ASSERT_TRUE(records_.OnReturn({1001, 312, "NO_ROUTE", "", "t"}).ok());
  EXPECT_EQ(Ack(2, /*is_multiple=*/true), "1? 2! 3! 4+ ");
  EXPECT_EQ(Sent(), "");
  Add(5, "a");
  EXPECT_EQ(Sent(), "5 ") << "the owner knows by now";
}

TEST_F(RecordsInFlightTest, AReturnOfAnotherMessageIsAnError) {
  Add(1, "a");
  Sent();
  EXPECT_TRUE(
      absl::IsDataLoss(records_.OnReturn({5, 312, "NO_ROUTE", "", "t"})));
}

TEST_F(RecordsInFlightTest, EachOfThoseGivenUpIsReportedOnce) {
  Add(1, "a");
  Add(2, "a");
  Add(3, "b");
  Sent();
  Nack(2);
  EXPECT_EQ(Text(records_.TakeAll(absl::AbortedError("closed"))), "1! 2! 3! ");
  EXPECT_TRUE(records_.empty());
  EXPECT_EQ(Sent(), "");
  EXPECT_EQ(Text(records_.TakeAll(absl::AbortedError("closed"))), "");
}

TEST_F(RecordsInFlightTest, FindsTheMessageThatWasTooLarge) {
  Add(1, "a");
  Add(2, "b");
  Sent();
  EXPECT_EQ(records_.FindBySize(102), 2u);
  EXPECT_FALSE(records_.FindBySize(50));
}

TEST_F(RecordsInFlightTest, KnowsTheSlowestMessage) {
  EXPECT_FALSE(records_.Slowest());
  Add(1, "a");
  Sent();
  EXPECT_EQ(records_.Slowest()->since, now_);
  EXPECT_EQ(records_.Slowest()->routing_key, "t");
}

TEST_F(RecordsInFlightTest, CountsAcknowledgementsByTopic) {
  Add(1, "a");
  Add(2, "b");
  Sent();
  Ack(2, /*is_multiple=*/true);
  std::string text;
  records_.AcknowledgedByTopic().ForEach(
      [&](std::string_view topic, uint64_t count) {
        text += fmt::format("{}={} ", topic, count);
      });
  EXPECT_EQ(text, "t=2 ");
}

TEST_F(RecordsInFlightTest, P1AMessageIsLateAtTheLimitUnlessThereIsAnAlarm) {
  Add(1, "a");
  EXPECT_EQ(Sent(), "1 ");
  const auto judge = [this](bool is_blocked) {
    return records_.Judge(seconds(30), is_blocked, now_);
  };
  now_ += std::chrono::milliseconds(29'999);
  EXPECT_TRUE(judge(false).ok());
  now_ += std::chrono::milliseconds(1);
  EXPECT_TRUE(absl::IsUnavailable(judge(false)));
  EXPECT_TRUE(judge(true).ok());
  Ack(1);
  EXPECT_TRUE(judge(false).ok());
}

TEST_F(RecordsInFlightTest, P1TheFifthRejectionNeedsAnotherConnection) {
  Add(1, "a");
  for (uint64_t tag = 1; tag <= 5; ++tag) {
    EXPECT_TRUE(records_.Judge(seconds(30), false, now_).ok()) << tag;
    EXPECT_EQ(Sent(), "1 ");
    Nack(tag);
    if (tag < 5) now_ += std::chrono::minutes(1);
  }
  EXPECT_TRUE(absl::IsUnavailable(records_.Judge(seconds(30), false, now_)));
  EXPECT_TRUE(absl::IsUnavailable(records_.Judge(seconds(30), true, now_)));
}

TEST_F(RecordsInFlightTest, P10ASlowMessageIsWorthAWordAfterFiveSeconds) {
  Add(1, "a");
  Sent();
  EXPECT_EQ(records_.Trouble(now_ + std::chrono::milliseconds(4'999)), "");
  EXPECT_NE(records_.Trouble(now_ + seconds(7)).find("for 7 s"),
            std::string::npos);
  Nack(1);
  EXPECT_NE(records_.Trouble(now_).find("basic.nack"), std::string::npos);
}

}  // namespace
}  // namespace walpost::rabbitmq
