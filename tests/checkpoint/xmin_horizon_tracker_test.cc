#include "checkpoint/xmin_horizon_tracker.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

HorizonSample Sample(uint64_t wal_end, uint64_t transaction_id) {
  return {Lsn(wal_end), {transaction_id, WallTime()}};
}

XminHorizon Horizon(uint64_t transaction_id) {
  return {transaction_id, WallTime()};
}

// In a stream that has had its first sample.
class XminHorizonTrackerTest : public ::testing::Test {
 protected:
  XminHorizonTrackerTest() {
    tracker_.Begin();
    tracker_.OnSample(Sample(0x1, 1), Lsn());
  }

  XminHorizonTracker tracker_;
};

TEST_F(XminHorizonTrackerTest, P1HoldsASampleBackUntilItsWalIsAcknowledged) {
  tracker_.OnSample(Sample(0x100, 50), Lsn(0x10));
  EXPECT_EQ(tracker_.Take(Lsn(0xFF)), std::nullopt);
  EXPECT_EQ(tracker_.Take(Lsn(0x100)), Horizon(50));
  EXPECT_EQ(tracker_.Take(Lsn(0x100)), std::nullopt);
}

TEST_F(XminHorizonTrackerTest, ASampleThatWaitsIsNotPushedOutByLaterOnes) {
  tracker_.OnSample(Sample(0x100, 50), Lsn(0x10));
  tracker_.OnSample(Sample(0x200, 60), Lsn(0x10));
  EXPECT_EQ(tracker_.Take(Lsn(0x300)), Horizon(50));
  tracker_.OnSample(Sample(0x400, 70), Lsn(0x300));
  EXPECT_EQ(tracker_.Take(Lsn(0x400)), Horizon(70));
}

TEST_F(XminHorizonTrackerTest, TheNewestThatWasPassedIsTaken) {
  tracker_.OnSample(Sample(0x100, 50), Lsn(0x10));
  tracker_.OnSample(Sample(0x200, 60), Lsn(0x150));
  tracker_.OnSample(Sample(0x300, 70), Lsn(0x250));
  EXPECT_EQ(tracker_.Take(Lsn(0x250)), Horizon(60));
}

TEST_F(XminHorizonTrackerTest, P1WhatMayBeOfBeforeTheStreamIsVoid) {
  tracker_.OnSample(Sample(0x100, 50), Lsn(0x10));
  tracker_.Begin();
  EXPECT_EQ(tracker_.Take(Lsn(0x900)), std::nullopt);
  tracker_.OnSample(Sample(0x120, 55), Lsn(0x10));  // asked for before Begin?
  EXPECT_EQ(tracker_.Take(Lsn(0x900)), std::nullopt);
  tracker_.OnSample(Sample(0x140, 57), Lsn(0x10));
  EXPECT_EQ(tracker_.Take(Lsn(0x900)), Horizon(57));
}

}  // namespace
}  // namespace walpost
