#include "nats/in_flight.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::seconds;

constexpr MonotonicTime kStart{};

class InFlightTest : public ::testing::Test {
 protected:
  // True: it goes at once.
  bool Add(Sequence sequence, Value key, std::string_view topic = "t") {
    Record record;
    record.topic = topic;
    record.key = key;
    NatsMessage message;
    message.subject = topic;
    return in_flight_
        .Add(record, "S", sequence, message, kStart + seconds(sequence))
        .has_value();
  }

  InFlight in_flight_;
};

TEST_F(InFlightTest, P3OneRecordOfAKeyIsOnItsWay) {
  EXPECT_TRUE(Add(1, "a"));
  EXPECT_FALSE(Add(2, "a")) << "behind 1";
  EXPECT_FALSE(Add(3, "a", "other subject")) << "the order is of the stream";
  EXPECT_TRUE(Add(4, "b"));
  EXPECT_TRUE(Add(5, std::nullopt));
  EXPECT_TRUE(Add(6, std::nullopt));
  const auto taken = in_flight_.Take(1);
  ASSERT_TRUE(taken.has_value());
  const auto next = in_flight_.Next(taken->lane, kStart);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->first, 2u);
}

TEST_F(InFlightTest, ARecordIsReportedOnce) {
  Add(1, "a");
  EXPECT_TRUE(in_flight_.Take(1).has_value());
  EXPECT_FALSE(in_flight_.Take(1).has_value());
  EXPECT_TRUE(in_flight_.empty());
}

TEST_F(InFlightTest, SaysAfterWhichSequenceARecordWasSent) {
  Add(1, std::nullopt);
  Add(2, std::nullopt);
  in_flight_.NoteSentAfter(2, 7);
  EXPECT_EQ(in_flight_.Take(1)->sent_after, 0u);
  EXPECT_EQ(in_flight_.Take(2)->sent_after, 7u);
}

TEST_F(InFlightTest, OnlyWhatWasSentCanBeLate) {
  Add(1, "a");
  Add(2, "a");
  EXPECT_EQ(in_flight_.Late(kStart + seconds(5), seconds(5)), std::nullopt);
  EXPECT_EQ(in_flight_.Late(kStart + seconds(6), seconds(5)), 1u);
  in_flight_.Take(1);
  EXPECT_EQ(in_flight_.Late(kStart + seconds(9), seconds(5)), std::nullopt);
  EXPECT_FALSE(in_flight_.HasSent()) << "2 waits";
  EXPECT_EQ(in_flight_.SentTo("t"), std::nullopt);
}

TEST_F(InFlightTest, ASlowConnectionIsNotLate) {
  for (Sequence i = 1; i <= 20; ++i) Add(i, std::nullopt);
  in_flight_.OnAnswer(1, kStart + seconds(18));
  in_flight_.Take(1);
  EXPECT_EQ(in_flight_.Late(kStart + seconds(20), seconds(5)), std::nullopt)
      << "answers come";
  EXPECT_EQ(in_flight_.Late(kStart + seconds(23), seconds(5)), 2u)
      << "none for 5 s";
}

TEST_F(InFlightTest, AnOvertakenRecordIsLate) {
  for (Sequence i = 1; i <= 3; ++i) Add(i, std::nullopt);
  in_flight_.OnAnswer(3, kStart + seconds(19));
  in_flight_.Take(3);
  EXPECT_EQ(in_flight_.Late(kStart + seconds(20), seconds(5)), 1u);
}

}  // namespace
}  // namespace walpost
