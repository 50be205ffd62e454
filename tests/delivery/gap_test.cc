#include "delivery/gap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/reason_code.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(GapTest, AStatusKeepsItsGap) {
  const Gap gap{kGapWalForked, "the WAL has forked"};
  const absl::Status status = StatusOfGap(gap);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_EQ(GapOf(status), gap);
}

// Each of them is latched: none passes for an error that a retry fixes.
TEST(GapTest, P9EveryReasonOfAGapIsOne) {
  for (const char* code :
       {kGapOtherCluster, kGapTimelineDiverged, kGapSlotMissing, kGapSlotLost,
        kGapSlotNotKept, kGapSlotAdvanced, kGapServerBehind, kGapWalForked,
        kGapCoverageChanged, kGapKafkaReplaced, kReasonPublicationMissing}) {
    EXPECT_TRUE(IsGap(code)) << code;
  }
}

TEST(GapTest, OtherReasonsAreNotGaps) {
  EXPECT_FALSE(IsGap(kReasonRecordTooLarge));
  EXPECT_FALSE(IsGap(""));
  EXPECT_FALSE(GapOf(absl::FailedPreconditionError("no right")));
  EXPECT_FALSE(GapOf(
      WithReasonCode(absl::InvalidArgumentError(""), kReasonRecordTooLarge)));
}

TEST(GapTest, ACheckpointKeepsTheCodeAndEveryWord) {
  const Gap gap{kGapSlotAdvanced, "slot a stands at 0/300, not 0/200"};
  EXPECT_EQ(ToText(gap), "slot_advanced slot a stands at 0/300, not 0/200");
  EXPECT_EQ(ParseGap(ToText(gap)), gap);
  EXPECT_EQ(ParseGap(""), std::nullopt);
}

// A birth record has no room for more.
TEST(GapTest, ACodeAloneHasTheRemedyOfASlotThatIsThereOrNot) {
  for (const char* code : {kGapSlotMissing, kGapSlotLost}) {
    const auto gap = ParseGap(code);
    ASSERT_TRUE(gap);
    EXPECT_EQ(gap->code, code);
    EXPECT_THAT(gap->text, HasSubstr("make a new slot")) << code;
  }
  const auto gap = ParseGap(kGapWalForked);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->code, kGapWalForked);
  EXPECT_THAT(gap->text, HasSubstr("walpost recover -c FILE --accept"));
}

TEST(GapTest, RemediesForBrokersThatAreNotReadBackCompareNothing) {
  for (const char* code : {kGapSlotMissing, kGapWalForked}) {
    const std::string text = ForUnreadBrokers(ParseGap(code)->text);
    EXPECT_THAT(text, HasSubstr("recover -c FILE --since TIME")) << code;
    EXPECT_THAT(text, Not(HasSubstr("--dry-run"))) << code;
  }
}

TEST(GapTest, P1ConsumersAreToldWhenPositionsMayBeginAgainLower) {
  for (const char* code : {kGapOtherCluster, kGapTimelineDiverged,
                           kGapServerBehind, kGapWalForked}) {
    EXPECT_TRUE(RestartsPositions(code)) << code;
    EXPECT_THAT(ParseGap(code)->text, HasSubstr(kForgetPositions)) << code;
  }
  for (const char* code :
       {kGapSlotMissing, kGapSlotLost, kGapSlotNotKept, kGapSlotAdvanced,
        kGapCoverageChanged, kGapKafkaReplaced}) {
    EXPECT_FALSE(RestartsPositions(code)) << code;
    EXPECT_THAT(ParseGap(code)->text, Not(HasSubstr("Consumers"))) << code;
  }
}

}  // namespace
}  // namespace walpost
