#include "delivery/horizon_tracker.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

HorizonSample Sample(uint64_t wal_end, uint64_t transaction_id) {
  return {Lsn(wal_end), {transaction_id, WallTime()}};
}

TransactionHorizon Horizon(uint64_t transaction_id) {
  return {transaction_id, WallTime()};
}

// In a stream that has had its first sample.
HorizonTracker InStream() {
  HorizonTracker tracker;
  tracker.Begin();
  tracker.OnSample(Sample(0x1, 1), Lsn());
  return tracker;
}

TEST(HorizonTrackerTest, P1HoldsASampleBackUntilItsWalIsAcknowledged) {
  HorizonTracker tracker = InStream();
  tracker.OnSample(Sample(0x100, 50), Lsn(0x10));
  EXPECT_EQ(tracker.Take(Lsn(0xFF)), std::nullopt);
  EXPECT_EQ(tracker.Take(Lsn(0x100)), Horizon(50));
  EXPECT_EQ(tracker.Take(Lsn(0x100)), std::nullopt);
}

TEST(HorizonTrackerTest, ASampleThatWaitsIsNotPushedOutByLaterOnes) {
  HorizonTracker tracker = InStream();
  tracker.OnSample(Sample(0x100, 50), Lsn(0x10));
  tracker.OnSample(Sample(0x200, 60), Lsn(0x10));
  EXPECT_EQ(tracker.Take(Lsn(0x300)), Horizon(50));
  tracker.OnSample(Sample(0x400, 70), Lsn(0x300));
  EXPECT_EQ(tracker.Take(Lsn(0x400)), Horizon(70));
}

TEST(HorizonTrackerTest, TheNewestThatWasPassedIsTaken) {
  HorizonTracker tracker = InStream();
  tracker.OnSample(Sample(0x100, 50), Lsn(0x10));
  tracker.OnSample(Sample(0x200, 60), Lsn(0x150));
  tracker.OnSample(Sample(0x300, 70), Lsn(0x250));
  EXPECT_EQ(tracker.Take(Lsn(0x250)), Horizon(60));
}

TEST(HorizonTrackerTest, P1WhatMayBeOfBeforeTheStreamIsVoid) {
  HorizonTracker tracker = InStream();
  tracker.OnSample(Sample(0x100, 50), Lsn(0x10));
  tracker.Begin();
  EXPECT_EQ(tracker.Take(Lsn(0x900)), std::nullopt);
  tracker.OnSample(Sample(0x120, 55), Lsn(0x10));  // asked for before Begin?
  EXPECT_EQ(tracker.Take(Lsn(0x900)), std::nullopt);
  tracker.OnSample(Sample(0x140, 57), Lsn(0x10));
  EXPECT_EQ(tracker.Take(Lsn(0x900)), Horizon(57));
}

}  // namespace
}  // namespace walpost
