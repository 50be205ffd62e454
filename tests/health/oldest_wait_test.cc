#include "health/oldest_wait.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace walpost {
namespace {

using std::chrono::seconds;

constexpr MonotonicTime kBegin{seconds(1000)};

Position At(uint64_t commit_lsn, uint64_t ordinal = 1) {
  return {Lsn(commit_lsn), ordinal};
}

class OldestWaitTest : public ::testing::Test {
 protected:
  Sequence Add(Position position) {
    const Sequence sequence = window_.Add({position, WallTime(), 10});
    window_.AddWatermark(position.commit_lsn.value() + 8);
    return sequence;
  }
  seconds LengthAfter(int time) {
    const Position settled_through =
        std::max(window_.acknowledged().position,
                 Position{Lsn(window_.passed_watermark()), 0});
    wait_.Look(window_.oldest(), settled_through, kBegin + seconds(time));
    return std::chrono::duration_cast<seconds>(
        wait_.Length(kBegin + seconds(time)));
  }

  AcknowledgementWindow window_{AcknowledgementWindow::Options()};
  OldestWait wait_{kBegin};
};

TEST_F(OldestWaitTest, NothingWaitsWhileNothingIsOwed) {
  EXPECT_EQ(LengthAfter(5), seconds(0));
  const Sequence only = Add(At(100));
  EXPECT_EQ(LengthAfter(6), seconds(0));
  window_.Acknowledge(only);
  EXPECT_EQ(LengthAfter(20), seconds(0));
}

TEST_F(OldestWaitTest, P10AnOldestThatOthersOvertakeWaitsOn) {
  Add(At(100));
  EXPECT_EQ(LengthAfter(1), seconds(0));
  window_.Acknowledge(Add(At(200)));
  EXPECT_EQ(LengthAfter(9), seconds(8));
}

TEST_F(OldestWaitTest, P10WhatPostgresIsToStoreDoesNotWaitForKafka) {
  InFlightRecord parked{At(100), WallTime(), 10};
  parked.kind = InFlightRecord::Kind::kParked;
  const Sequence stored = window_.Add(parked);
  window_.AddWatermark(108);
  Add(At(200));
  EXPECT_EQ(LengthAfter(1), seconds(0));
  EXPECT_EQ(LengthAfter(30), seconds(0));
  window_.Acknowledge(stored);
  EXPECT_EQ(LengthAfter(31), seconds(0));
  EXPECT_EQ(LengthAfter(40), seconds(9));
}

TEST_F(OldestWaitTest, TheNextOneBeginsToWaitWhenItIsTheOldest) {
  const Sequence first = Add(At(100, 1));
  Add(At(100, 2));
  EXPECT_EQ(LengthAfter(1), seconds(0));
  window_.Acknowledge(first);
  EXPECT_EQ(LengthAfter(7), seconds(0));
  EXPECT_EQ(LengthAfter(9), seconds(2));
}

TEST_F(OldestWaitTest, P10AnotherProducerDoesNotEndTheWait) {
  Add(At(100));
  EXPECT_EQ(LengthAfter(1), seconds(0));
  window_.Clear();
  EXPECT_EQ(LengthAfter(9), seconds(8)) << "it is owed, though not in flight";
  const Sequence again = Add(At(100));
  EXPECT_EQ(LengthAfter(10), seconds(9));
  window_.Acknowledge(again);
  EXPECT_EQ(LengthAfter(11), seconds(0));
}

TEST_F(OldestWaitTest, WhatTheStreamHasPassedIsNotOwed) {
  Add(At(100));
  EXPECT_EQ(LengthAfter(1), seconds(0));
  window_.Clear();
  EXPECT_EQ(LengthAfter(2), seconds(1));
  window_.AddWatermark(200);
  EXPECT_EQ(LengthAfter(3), seconds(0));
}

TEST_F(OldestWaitTest, AnotherStreamOwesNothingOfTheLast) {
  Add(At(100));
  EXPECT_EQ(LengthAfter(1), seconds(0));
  window_.Clear();
  wait_.StartOver();
  EXPECT_EQ(LengthAfter(9), seconds(0));
}

TEST_F(OldestWaitTest, TheTurnsOfOthersAreNoWait) {
  Add(At(100));
  EXPECT_EQ(LengthAfter(0), seconds(0));
  EXPECT_EQ(LengthAfter(6), seconds(6));
  wait_.OnTurnOfOthers(kBegin + seconds(7));
  EXPECT_EQ(LengthAfter(9), seconds(2));
}

}  // namespace
}  // namespace walpost
