// P9: a gap stays until an operator acts.
#include "checkpoint/gap_latch.h"

#include <gtest/gtest.h>

#include "base/reason_code.h"
#include "delivery/gap.h"

namespace walpost {
namespace {

const Gap kGap{kGapSlotMissing, "slot orders is missing"};

TEST(GapLatchTest, P9StaysWithoutAnyPlaceToKeepIt) {
  GapLatch latch;
  EXPECT_FALSE(latch.Observe("", ""));
  EXPECT_FALSE(latch.gap());
  latch.Close(kGap);
  EXPECT_FALSE(latch.Observe("", ""));
  EXPECT_EQ(latch.gap(), kGap);
}

TEST(GapLatchTest, P9TheFirstGapCounts) {
  GapLatch latch;
  latch.Close(kGap);
  latch.Close({kGapWalForked, "later"});
  EXPECT_EQ(latch.gap(), kGap);
}

TEST(GapLatchTest, P9IsClosedByWhatAnEarlierProcessKept) {
  for (const bool in_checkpoint : {true, false}) {
    GapLatch latch;
    const std::string kept = in_checkpoint ? ToText(kGap) : kGap.code;
    EXPECT_FALSE(
        latch.Observe(in_checkpoint ? kept : "", in_checkpoint ? "" : kept));
    ASSERT_TRUE(latch.gap());
    EXPECT_EQ(latch.gap()->code, kGap.code);
    EXPECT_FALSE(latch.gap()->text.empty());
  }
}

TEST(GapLatchTest, OpensWhenAnOperatorHasTakenItOutOfEveryPlace) {
  GapLatch latch;
  latch.Close(kGap);
  EXPECT_FALSE(latch.Observe(ToText(kGap), kGap.code));
  EXPECT_FALSE(latch.Observe("", kGap.code));
  // Somebody wiped the record out.
  EXPECT_FALSE(latch.Observe(std::nullopt, std::nullopt));
  EXPECT_TRUE(latch.gap());
  EXPECT_TRUE(latch.Observe("", ""));
  EXPECT_FALSE(latch.gap());
  EXPECT_FALSE(latch.Observe("", ""));
}

// A store that did not take it yet does not speak for an operator.
TEST(GapLatchTest, P9DoesNotOpenBeforeItWasKept) {
  GapLatch latch;
  latch.Close(kGap);
  EXPECT_FALSE(latch.Observe("", ""));
  EXPECT_FALSE(latch.Observe(ToText(kGap), ""));
  EXPECT_TRUE(latch.Observe("", ""));
}

TEST(GapLatchTest, KnowsTheGapOfAStatus) {
  EXPECT_EQ(GapOf(StatusOfGap(kGap)), kGap);
  EXPECT_EQ(GapOf(absl::FailedPreconditionError("no")), std::nullopt);
  EXPECT_EQ(GapOf(WithReasonCode(absl::FailedPreconditionError("no"),
                                 kReasonCheckpointUnreadable)),
            std::nullopt);
}

}  // namespace
}  // namespace walpost
