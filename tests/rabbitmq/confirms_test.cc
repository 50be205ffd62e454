#include "rabbitmq/confirms.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace walpost::rabbitmq {
namespace {

using Outcome = Confirms::Settled::Outcome;

class ConfirmsTest : public ::testing::Test {
 protected:
  // Sequences 10, 11, ... have the tags 1, 2, ...; each has an identity of its
  // own.
  void Send(int count) {
    for (int i = 0; i < count; ++i) {
      confirms_.Add(10 + i, 100 + i, MonotonicTime());
    }
  }
  static std::string Text(
      const absl::StatusOr<std::vector<Confirms::Settled>>& all) {
    if (!all.ok()) return std::string(all.status().message());
    std::string text;
    for (const Confirms::Settled& settled : *all) {
      text += std::to_string(settled.sequence);
      text += settled.outcome == Outcome::kStored       ? "+ "
              : settled.outcome == Outcome::kUnroutable ? "? "
                                                        : "- ";
    }
    return text;
  }

  Confirms confirms_;
};

TEST_F(ConfirmsTest, AnAckIsOfOneMessage) {
  Send(3);
  EXPECT_EQ(Text(confirms_.OnAck(2, false)), "11+ ");
  EXPECT_EQ(Text(confirms_.OnAck(1, false)), "10+ ");
  EXPECT_EQ(confirms_.size(), 1u);
}

TEST_F(ConfirmsTest, AMultipleAckIsOfAllSoFarThatAreNotSettled) {
  Send(4);
  EXPECT_EQ(Text(confirms_.OnAck(2, false)), "11+ ");
  EXPECT_EQ(Text(confirms_.OnAck(3, true)), "10+ 12+ ");
  EXPECT_EQ(Text(confirms_.OnAck(0, true)), "13+ ");
}

TEST_F(ConfirmsTest, ANackIsNotAnAcknowledgement) {
  Send(3);
  EXPECT_EQ(Text(confirms_.OnNack(2, true)), "10- 11- ");
  EXPECT_EQ(Text(confirms_.OnAck(3, true)), "12+ ");
}

TEST_F(ConfirmsTest, AReturnedMessageIsUnroutableOnceItIsConfirmed) {
  Send(3);
  ASSERT_TRUE(confirms_.OnReturn(101, "NO_ROUTE").ok());
  EXPECT_EQ(Text(confirms_.OnAck(3, true)), "10+ 11? 12+ ");
}

TEST_F(ConfirmsTest, OfEqualMessagesTheOldestIsReturnedFirst) {
  for (Sequence i = 0; i < 3; ++i) confirms_.Add(i, 7, MonotonicTime());
  ASSERT_TRUE(confirms_.OnReturn(7, "").ok());
  ASSERT_TRUE(confirms_.OnReturn(7, "").ok());
  EXPECT_EQ(Text(confirms_.OnAck(3, true)), "0? 1? 2+ ");
}

TEST_F(ConfirmsTest, AReturnOfASettledMessageIsAnError) {
  Send(1);
  ASSERT_TRUE(confirms_.OnAck(1, false).ok());
  EXPECT_TRUE(absl::IsDataLoss(confirms_.OnReturn(100, "")));
}

TEST_F(ConfirmsTest, AConfirmationOfNothingIsAnError) {
  Send(2);
  EXPECT_TRUE(absl::IsDataLoss(confirms_.OnAck(3, true).status()));
  EXPECT_TRUE(absl::IsDataLoss(confirms_.OnAck(0, false).status()));
  EXPECT_EQ(Text(confirms_.OnAck(2, true)), "10+ 11+ ");
  EXPECT_EQ(Text(confirms_.OnAck(2, true)), "") << "again";
}

TEST_F(ConfirmsTest, KnowsTheMessageThatWaitsLongest) {
  EXPECT_FALSE(confirms_.oldest());
  Send(3);
  ASSERT_TRUE(confirms_.OnAck(2, false).ok());
  EXPECT_EQ(confirms_.oldest()->sequence, 10u);
  ASSERT_TRUE(confirms_.OnAck(1, false).ok());
  EXPECT_EQ(confirms_.oldest()->sequence, 12u);
}

}  // namespace
}  // namespace walpost::rabbitmq
