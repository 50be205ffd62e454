#include "checkpoint/observed_gap.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

const Gap kMissing{kGapSlotMissing, "missing"};

TEST(ObservedGapTest, P10ASlotThatIsBeingMadeIsNoGap) {
  ObservedGap sight;
  EXPECT_FALSE(sight.gap());
  sight.Look(kMissing);
  EXPECT_FALSE(sight.gap());
  sight.Look(std::nullopt);
  EXPECT_FALSE(sight.gap());
  sight.Look(kMissing);
  EXPECT_FALSE(sight.gap());
}

TEST(ObservedGapTest, P10WhatStaysIsShownWithItsLastText) {
  ObservedGap sight;
  sight.Look(kMissing);
  sight.Look(Gap{kGapSlotMissing, "missing still"});
  ASSERT_TRUE(sight.gap());
  EXPECT_EQ(sight.gap()->code, kGapSlotMissing);
  EXPECT_EQ(sight.gap()->text, "missing still");
  sight.Look(Gap{kGapSlotLost, "lost"});
  EXPECT_FALSE(sight.gap());
  sight.Look(Gap{kGapSlotLost, "lost"});
  ASSERT_TRUE(sight.gap());
  EXPECT_EQ(sight.gap()->code, kGapSlotLost);
  sight.Look(std::nullopt);
  EXPECT_FALSE(sight.gap());
}

}  // namespace
}  // namespace walpost
