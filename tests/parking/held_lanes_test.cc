#include "parking/held_lanes.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

Position At(uint64_t commit_lsn, uint64_t ordinal = 1) {
  return {Lsn(commit_lsn), ordinal};
}

TEST(HeldLanesTest, HoldsAnEventAndAllThatFollowIt) {
  HeldLanes lanes;
  lanes.Hold("a", At(200), 1);
  EXPECT_TRUE(lanes.Holds("a", At(200)));
  EXPECT_TRUE(lanes.Holds("a", At(200, 2)));
  EXPECT_TRUE(lanes.Holds("a", At(300)));
  EXPECT_FALSE(lanes.Holds("b", At(300)));
}

TEST(HeldLanesTest, DoesNotHoldEarlierEvents) {
  HeldLanes lanes;
  lanes.Hold("a", At(200), 1);
  EXPECT_FALSE(lanes.Holds("a", At(199, 9)));
  lanes.Hold("a", At(100), 2);
  EXPECT_TRUE(lanes.Holds("a", At(199, 9)));
}

TEST(HeldLanesTest, ReleasesALaneInWhichNothingWaits) {
  HeldLanes lanes;
  lanes.Hold("a", At(200), 1);
  lanes.Hold("b", At(201), 2);
  EXPECT_EQ(lanes.ReleaseExcept({"b"}, 2), 1u);
  EXPECT_FALSE(lanes.Contains("a"));
  EXPECT_TRUE(lanes.Contains("b"));
}

TEST(HeldLanesTest, KeepsALaneWhoseNewestEventWasNotStoredWhenItWasRead) {
  HeldLanes lanes;
  lanes.Hold("a", At(200), 1);
  lanes.Hold("a", At(201), 2);
  EXPECT_EQ(lanes.ReleaseExcept({}, 1), 0u);
  EXPECT_EQ(lanes.ReleaseExcept({}, 2), 1u);
}

TEST(HeldLanesTest, ClosedLanesAreOpenedTogether) {
  HeldLanes lanes;
  lanes.Hold("a", At(200), 1);
  lanes.Close("a");
  lanes.Close("unknown");
  EXPECT_TRUE(lanes.IsClosed("a"));
  EXPECT_FALSE(lanes.IsClosed("unknown"));
  EXPECT_TRUE(lanes.OpenAll());
  EXPECT_FALSE(lanes.OpenAll());
  EXPECT_FALSE(lanes.IsClosed("a"));
}

}  // namespace
}  // namespace walpost
