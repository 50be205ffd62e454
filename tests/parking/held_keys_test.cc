#include "parking/held_keys.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

Position At(uint64_t commit_lsn, uint64_t ordinal = 1) {
  return {Lsn(commit_lsn), ordinal};
}

TEST(HeldKeysTest, HoldsAnEventAndAllThatFollowIt) {
  HeldKeys lanes;
  lanes.Hold("a", At(200), 1);
  EXPECT_TRUE(lanes.Holds("a", At(200), ""));
  EXPECT_TRUE(lanes.Holds("a", At(200, 2), ""));
  EXPECT_TRUE(lanes.Holds("a", At(300), ""));
  EXPECT_FALSE(lanes.Holds("b", At(300), ""));
}

TEST(HeldKeysTest, DoesNotHoldEarlierEvents) {
  HeldKeys lanes;
  lanes.Hold("a", At(200), 1);
  EXPECT_FALSE(lanes.Holds("a", At(199, 9), ""));
  lanes.Hold("a", At(100), 2);
  EXPECT_TRUE(lanes.Holds("a", At(199, 9), ""));
}

TEST(HeldKeysTest, ReleasesALaneInWhichNothingWaits) {
  HeldKeys lanes;
  lanes.Hold("a", At(200), 1);
  lanes.Hold("b", At(201), 2);
  EXPECT_EQ(lanes.ReleaseExcept({"b"}, 2), 1u);
  EXPECT_FALSE(lanes.Contains("a"));
  EXPECT_TRUE(lanes.Contains("b"));
}

TEST(HeldKeysTest, KeepsALaneWhoseNewestEventWasNotStoredWhenItWasRead) {
  HeldKeys lanes;
  lanes.Hold("a", At(200), 1);
  lanes.Hold("a", At(201), 2);
  EXPECT_EQ(lanes.ReleaseExcept({}, 1), 0u);
  EXPECT_EQ(lanes.ReleaseExcept({}, 2), 1u);
}

TEST(HeldKeysTest, ClosedLanesAreOpenedTogether) {
  HeldKeys lanes;
  lanes.Hold("a", At(200), 1);
  lanes.Close("a");
  lanes.Close("unknown");
  EXPECT_TRUE(lanes.IsClosed("a"));
  EXPECT_FALSE(lanes.IsClosed("unknown"));
  EXPECT_TRUE(lanes.OpenAll());
  EXPECT_FALSE(lanes.OpenAll());
  EXPECT_FALSE(lanes.IsClosed("a"));
}

TEST(HeldKeysTest, ALaneIsHeldFromTheEventWithItsDigest) {
  HeldKeys lanes;
  lanes.HoldFromDigest("a", Lsn(200), "i1", 1);
  EXPECT_FALSE(lanes.Holds("a", At(199), "i1")) << "another transaction";
  EXPECT_FALSE(lanes.AsksForDigest("a", At(199)));
  EXPECT_TRUE(lanes.AsksForDigest("a", At(200)));
  EXPECT_FALSE(lanes.Holds("a", At(200, 1), "i0"));
  EXPECT_TRUE(lanes.Holds("a", At(200, 2), "i1"));
  EXPECT_FALSE(lanes.AsksForDigest("a", At(200, 3)));
  EXPECT_TRUE(lanes.Holds("a", At(200, 3), "i2"));
  EXPECT_FALSE(lanes.Holds("a", At(200, 1), "i0"));
}

TEST(HeldKeysTest, ALaterTransactionNeedsNoDigest) {
  HeldKeys lanes;
  lanes.HoldFromDigest("a", Lsn(200), "i1", 1);
  EXPECT_FALSE(lanes.AsksForDigest("a", At(201)));
  EXPECT_TRUE(lanes.Holds("a", At(201), ""));
}

TEST(HeldKeysTest, AnEarlierEventThatIsParkedHoldsTheLane) {
  HeldKeys lanes;
  lanes.HoldFromDigest("a", Lsn(200), "i1", 1);
  lanes.Hold("a", At(200, 1), 2);
  EXPECT_TRUE(lanes.Holds("a", At(200, 2), "i0"));
}

TEST(HeldKeysTest, AFirstEventIsNotReplacedByOneOfAnotherNumbering) {
  HeldKeys lanes;
  lanes.Hold("a", At(100), 1);
  lanes.HoldFromDigest("a", Lsn(200), "i1", 2);
  EXPECT_TRUE(lanes.Holds("a", At(150), ""));
}

}  // namespace
}  // namespace walpost
