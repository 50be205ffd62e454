#include "delivery/acknowledgement_window.h"

#include <gtest/gtest.h>

#include <vector>

namespace walpost {
namespace {

AcknowledgementWindow::Options Limits(size_t records, size_t bytes = 1 << 20) {
  AcknowledgementWindow::Options options;
  options.max_records = records;
  options.max_bytes = bytes;
  return options;
}

Position At(uint64_t commit_lsn, uint64_t ordinal = 1) {
  return {Lsn(commit_lsn), ordinal};
}

class AcknowledgementWindowTest : public ::testing::Test {
 protected:
  Sequence Add(Position position, size_t size_bytes = 10) {
    return window_.Add({position, WallTime(), size_bytes});
  }

  AcknowledgementWindow window_{Limits(8)};
};

TEST_F(AcknowledgementWindowTest, StartsEmptyWithNothingToConfirm) {
  EXPECT_TRUE(window_.empty());
  EXPECT_TRUE(window_.HasCapacity());
  EXPECT_EQ(window_.passed_watermark(), 0u);
  EXPECT_EQ(window_.newest_watermark(), 0u);
  EXPECT_EQ(window_.oldest(), nullptr);
}

TEST_F(AcknowledgementWindowTest, P2HoldsConfirmedBehindTheOldestInFlight) {
  const Sequence first = Add(At(100));
  window_.AddWatermark(110);
  const Sequence second = Add(At(200));
  window_.AddWatermark(210);
  window_.Acknowledge(second);
  EXPECT_EQ(window_.passed_watermark(), 0u);
  window_.Acknowledge(first);
  EXPECT_EQ(window_.passed_watermark(), 210u);
}

TEST_F(AcknowledgementWindowTest, P2ConfirmsOnlyWholeTransactions) {
  const Sequence first = Add(At(100, 1));
  const Sequence second = Add(At(100, 2));
  window_.Acknowledge(first);
  window_.Acknowledge(second);
  EXPECT_EQ(window_.passed_watermark(), 0u) << "its end has not come";
  window_.AddWatermark(110);
  EXPECT_EQ(window_.passed_watermark(), 110u);
}

TEST_F(AcknowledgementWindowTest, P2WaitsForEveryEventOfATransaction) {
  const Sequence first = Add(At(100, 1));
  const Sequence second = Add(At(100, 2));
  window_.AddWatermark(110);
  window_.Acknowledge(second);
  EXPECT_EQ(window_.passed_watermark(), 0u);
  window_.Acknowledge(first);
  EXPECT_EQ(window_.passed_watermark(), 110u);
}

TEST_F(AcknowledgementWindowTest, P7AnIdleBoundaryIsConfirmedAtOnce) {
  window_.AddWatermark(50);
  EXPECT_EQ(window_.passed_watermark(), 50u);
  window_.AddWatermark(70);
  EXPECT_EQ(window_.passed_watermark(), 70u);
}

TEST_F(AcknowledgementWindowTest, ABoundaryWaitsForTheRecordsBeforeIt) {
  const Sequence first = Add(At(100));
  window_.AddWatermark(110);
  window_.AddWatermark(150);  // a keepalive
  Add(At(200));
  window_.AddWatermark(210);
  window_.Acknowledge(first);
  EXPECT_EQ(window_.passed_watermark(), 150u) << "the newest before the second";
}

TEST_F(AcknowledgementWindowTest, BoundariesNeverGoBack) {
  window_.AddWatermark(100);
  window_.AddWatermark(60);
  window_.AddWatermark(100);
  EXPECT_EQ(window_.passed_watermark(), 100u);
  EXPECT_EQ(window_.newest_watermark(), 100u);
  const Sequence record = Add(At(200));
  window_.AddWatermark(90);
  window_.Acknowledge(record);
  EXPECT_EQ(window_.passed_watermark(), 100u);
}

TEST_F(AcknowledgementWindowTest, ReceivedRunsAheadOfConfirmed) {
  Add(At(100));
  window_.AddWatermark(110);
  EXPECT_EQ(window_.newest_watermark(), 110u);
  EXPECT_EQ(window_.passed_watermark(), 0u);
}

TEST_F(AcknowledgementWindowTest, AnUnknownOrSecondReportChangesNothing) {
  EXPECT_EQ(window_.Acknowledge(0), nullptr) << "not added yet";
  const Sequence first = Add(At(100));
  Add(At(101));
  EXPECT_EQ(window_.Acknowledge(first + 2), nullptr);
  EXPECT_NE(window_.Acknowledge(first), nullptr);
  EXPECT_EQ(window_.Acknowledge(first), nullptr);
  EXPECT_EQ(window_.in_flight_records(), 1u);
  EXPECT_EQ(window_.in_flight_bytes(), 10u);
}

TEST_F(AcknowledgementWindowTest, GivesBackTheRecordThatWasAcknowledged) {
  const Sequence sequence = Add(At(100, 7), 33);
  ASSERT_NE(window_.Find(sequence), nullptr);
  EXPECT_EQ(window_.oldest()->position, At(100, 7));
  const InFlightRecord* record = window_.Acknowledge(sequence);
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->position, At(100, 7));
  EXPECT_EQ(record->size_bytes, 33u);
  EXPECT_EQ(window_.Find(sequence), nullptr);
  EXPECT_EQ(window_.oldest(), nullptr);
}

TEST_F(AcknowledgementWindowTest, SequencesHaveNoGaps) {
  for (uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(window_.next_sequence(), i);
    EXPECT_EQ(Add(At(100 + i)), i);
    window_.Acknowledge(i);
  }
}

// ---- Limits (P6).

TEST_F(AcknowledgementWindowTest, P6IsFullAtItsMostRecords) {
  AcknowledgementWindow window(Limits(5));  // not a power of two
  for (uint64_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(window.HasCapacity()) << i;
    window.Add({At(100 + i), WallTime(), 1});
  }
  EXPECT_FALSE(window.HasCapacity());
  window.Acknowledge(0);
  EXPECT_TRUE(window.HasCapacity());
}

TEST_F(AcknowledgementWindowTest, P6IsFullAtItsMostBytesAndTakesOneOverThem) {
  AcknowledgementWindow window(Limits(100, 1'000));
  window.Add({At(100), WallTime(), 999});
  ASSERT_TRUE(window.HasCapacity());
  window.Add({At(101), WallTime(), 50'000});
  EXPECT_FALSE(window.HasCapacity());
  EXPECT_EQ(window.in_flight_bytes(), 50'999u);
  window.Acknowledge(1);
  EXPECT_TRUE(window.HasCapacity());
}

TEST_F(AcknowledgementWindowTest, P6IsFullWhenTheOldestHoldsTheRing) {
  // All but the oldest are acknowledged: few are in flight, yet the ring must
  // remember the others.
  const Sequence oldest = Add(At(100));
  for (uint64_t i = 1; i < 8; ++i) window_.Acknowledge(Add(At(100 + i)));
  EXPECT_EQ(window_.in_flight_records(), 1u);
  EXPECT_FALSE(window_.HasCapacity());
  window_.Acknowledge(oldest);
  EXPECT_TRUE(window_.HasCapacity());
  EXPECT_TRUE(window_.empty());
}

TEST_F(AcknowledgementWindowTest, OneRecordAtATimeIsAWindowToo) {
  AcknowledgementWindow window(Limits(1));
  for (uint64_t i = 1; i <= 3; ++i) {
    const Sequence sequence = window.Add({At(100 * i), WallTime(), 1});
    EXPECT_FALSE(window.HasCapacity());
    window.AddWatermark(100 * i + 10);
    window.Acknowledge(sequence);
    EXPECT_EQ(window.passed_watermark(), 100 * i + 10);
  }
}

TEST_F(AcknowledgementWindowTest, TheRingWrapsManyTimes) {
  for (uint64_t i = 1; i <= 1'000; ++i) {
    const Sequence first = Add(At(10 * i, 1));
    const Sequence second = Add(At(10 * i, 2));
    window_.AddWatermark(10 * i + 5);
    window_.Acknowledge(second);
    ASSERT_EQ(window_.passed_watermark(), i == 1 ? 0 : 10 * i - 5);
    window_.Acknowledge(first);
    ASSERT_EQ(window_.passed_watermark(), 10 * i + 5);
  }
}

using AcknowledgementWindowDeathTest = AcknowledgementWindowTest;

TEST_F(AcknowledgementWindowDeathTest, APositionThatGoesBackIsOurBug) {
  Add(At(100, 2));
  EXPECT_DEATH(Add(At(100, 2)), "check failed");
  EXPECT_DEATH(Add(At(100, 1)), "check failed");
}

TEST_F(AcknowledgementWindowDeathTest, AddingToAFullRingIsOurBug) {
  for (uint64_t i = 0; i < 8; ++i) Add(At(100 + i));
  EXPECT_DEATH(Add(At(200)), "check failed");
}

// ---- Repeats and Clear.

TEST_F(AcknowledgementWindowTest, CoversWhatIsInFlightOrAcknowledged) {
  EXPECT_FALSE(window_.Covers(At(1)));
  const Sequence first = Add(At(100, 1));
  Add(At(100, 2));
  window_.Acknowledge(first);
  EXPECT_TRUE(window_.Covers(At(99)));
  EXPECT_TRUE(window_.Covers(At(100, 1)));
  EXPECT_TRUE(window_.Covers(At(100, 2)));
  EXPECT_FALSE(window_.Covers(At(100, 3)));
}

TEST_F(AcknowledgementWindowTest, ClearKeepsWhatIsConfirmed) {
  window_.Acknowledge(Add(At(100)));
  window_.AddWatermark(110);
  Add(At(200));
  window_.AddWatermark(210);
  EXPECT_TRUE(window_.Clear().empty());
  EXPECT_EQ(window_.passed_watermark(), 110u);
  EXPECT_EQ(window_.newest_watermark(), 110u) << "the rest must come again";
  EXPECT_TRUE(window_.empty());
  EXPECT_EQ(window_.in_flight_bytes(), 0u);
  EXPECT_TRUE(window_.HasCapacity());
}

TEST_F(AcknowledgementWindowTest, ClearGivesWhatWasAcknowledgedOutOfTurn) {
  Add(At(100, 1));
  const Sequence second = Add(At(100, 2));
  Add(At(200, 1));
  const Sequence fourth = Add(At(200, 2));
  window_.Acknowledge(fourth);
  window_.Acknowledge(second);
  EXPECT_EQ(window_.Clear(),
            (std::vector<EventIdentity>{{At(100, 2)}, {At(200, 2)}}));
  EXPECT_FALSE(window_.Covers(At(100, 1)));
  EXPECT_FALSE(window_.Covers(At(100, 2))) << "the filter's business";
}

TEST_F(AcknowledgementWindowTest, ClearStillCoversWhatWasAcknowledgedInTurn) {
  window_.Acknowledge(Add(At(100, 1)));
  Add(At(100, 2));
  window_.Clear();
  EXPECT_TRUE(window_.Covers(At(100, 1)));
  EXPECT_FALSE(window_.Covers(At(100, 2)));
}

TEST_F(AcknowledgementWindowTest, LateReportsAfterClearFindNothing) {
  const Sequence lost = Add(At(100));
  window_.Clear();
  EXPECT_EQ(window_.Find(lost), nullptr);
  EXPECT_EQ(window_.Acknowledge(lost), nullptr);
  const Sequence again = Add(At(100));
  EXPECT_GT(again, lost) << "sequences go on";
  EXPECT_EQ(window_.Acknowledge(lost), nullptr);
  EXPECT_EQ(window_.in_flight_records(), 1u);
}

TEST_F(AcknowledgementWindowTest, AfterClearTheRepeatedBoundariesCountAgain) {
  Add(At(100));
  window_.AddWatermark(110);
  window_.Clear();
  const Sequence again = Add(At(100));
  window_.AddWatermark(110);
  EXPECT_EQ(window_.passed_watermark(), 0u);
  window_.Acknowledge(again);
  EXPECT_EQ(window_.passed_watermark(), 110u);
}

TEST_F(AcknowledgementWindowTest,
       AfterClearInMidTransactionNothingIsConfirmed) {
  // Of a transaction of three, the first is acknowledged; then the producer
  // is lost, and a keepalive comes before the repeat.
  window_.AddWatermark(50);
  window_.Acknowledge(Add(At(100, 1)));
  Add(At(100, 2));
  window_.Clear();
  window_.AddWatermark(60);
  EXPECT_EQ(window_.passed_watermark(), 60u);
  const Sequence second = Add(At(100, 2));
  const Sequence third = Add(At(100, 3));
  window_.AddWatermark(110);
  window_.Acknowledge(third);
  EXPECT_EQ(window_.passed_watermark(), 60u);
  window_.Acknowledge(second);
  EXPECT_EQ(window_.passed_watermark(), 110u);
}

// ---- Progress of an earlier process.

TEST_F(AcknowledgementWindowTest, P5ResumesBehindAKnownPosition) {
  const EventIdentity event{At(200, 2), Xid(7), WallTime()};
  window_.Resume(150, event);
  EXPECT_EQ(window_.passed_watermark(), 150u);
  EXPECT_EQ(window_.newest_watermark(), 150u);
  EXPECT_EQ(window_.acknowledged(), event);
  EXPECT_EQ(window_.newest(), event);
  EXPECT_TRUE(window_.Covers(At(200, 2)));
  EXPECT_FALSE(window_.Covers(At(200, 3)));
}

TEST_F(AcknowledgementWindowTest, P2AnEarlierProgressTakesNothingBack) {
  const Sequence sequence = Add(At(300));
  window_.AddWatermark(310);
  window_.Acknowledge(sequence);
  window_.Resume(150, {At(200), Xid(7), WallTime()});
  EXPECT_EQ(window_.passed_watermark(), 310u);
  EXPECT_EQ(window_.acknowledged().position, At(300));
  EXPECT_EQ(window_.newest().position, At(300));
  EXPECT_TRUE(window_.Covers(At(300)));
}

TEST_F(AcknowledgementWindowTest, P1AWithdrawnRecordWasNeverThere) {
  const Sequence first = Add(At(100, 1));
  const Sequence second = Add(At(100, 2), 50);
  window_.Withdraw(second);
  EXPECT_FALSE(window_.Covers(At(100, 2)));
  EXPECT_TRUE(window_.Covers(At(100, 1)));
  EXPECT_EQ(window_.newest().position.commit_lsn, Lsn(100));
  EXPECT_EQ(window_.in_flight_records(), 1u);
  EXPECT_EQ(window_.in_flight_bytes(), 10u);
  EXPECT_EQ(window_.Find(second), nullptr);
  EXPECT_EQ(Add(At(100, 2)), second) << "another one in its place";
  window_.Acknowledge(first);
  window_.Acknowledge(second);
  EXPECT_EQ(window_.acknowledged().position, At(100, 2));
}

TEST_F(AcknowledgementWindowTest, P9AWithdrawnRecordProvesNoCommit) {
  window_.Acknowledge(window_.Add({At(100), WallTime(), 10, Xid(7)}));
  window_.AddWatermark(110);
  window_.Withdraw(window_.Add({At(200), WallTime(), 10, Xid(8)}));
  EXPECT_EQ(window_.newest(), (EventIdentity{At(100), Xid(7)}));
  EXPECT_EQ(window_.passed_watermark(), 110u);
  EXPECT_TRUE(window_.empty());
  window_.AddWatermark(210);
  EXPECT_EQ(window_.passed_watermark(), 210u);
}

TEST(AcknowledgementWindow, HasRoomForSomeRecordsOfEachPartition) {
  AcknowledgementWindow window(Limits(8));
  window.SpreadOver(2);
  EXPECT_EQ(window.max_records(), 8u) << "never fewer";
  window.SpreadOver(100);
  EXPECT_EQ(window.max_records(), 400u);
  window.SpreadOver(5);
  EXPECT_EQ(window.max_records(), 400u);
  window.SpreadOver(1'000'000);
  EXPECT_EQ(window.max_records(), AcknowledgementWindow::kMaxSpreadRecords);
}

TEST(AcknowledgementWindow, ANumberThatWasSetStays) {
  AcknowledgementWindow::Options options = Limits(8);
  options.records_per_partition = 0;
  AcknowledgementWindow window(options);
  window.SpreadOver(1000);
  EXPECT_EQ(window.max_records(), 8u);
}

TEST(AcknowledgementWindow, P2GrowsWithTheRecordsThatAreInIt) {
  AcknowledgementWindow window(Limits(8));
  const auto add = [&window](uint64_t lsn) {
    const Sequence sequence =
        window.Add({At(lsn), WallTime(), /*size_bytes=*/1});
    window.AddWatermark(lsn + 1);
    return sequence;
  };
  std::vector<Sequence> sequences;
  for (uint64_t i = 1; i <= 11; ++i) {  // head and end are not at the edge
    sequences.push_back(add(10 * i));
    if (i <= 3) window.Acknowledge(sequences.back());
  }
  window.Acknowledge(sequences[6]);
  window.SpreadOver(10);
  EXPECT_EQ(window.in_flight_records(), 7u);
  EXPECT_EQ(window.Find(sequences[6]), nullptr);
  EXPECT_EQ(window.oldest()->position, At(40));
  for (uint64_t i = 12; window.HasCapacity(); ++i) {
    sequences.push_back(add(10 * i));
  }
  EXPECT_EQ(window.in_flight_records(), 40u);
  EXPECT_EQ(window.passed_watermark(), 31u);
  for (const Sequence sequence : sequences) window.Acknowledge(sequence);
  EXPECT_EQ(window.passed_watermark(), 10 * sequences.size() + 1);
}

TEST(AcknowledgementWindow, TakesTurnsWhileManyPartitionsAreBusy) {
  AcknowledgementWindow window(Limits(8));
  for (uint64_t i = 1; i <= 8; ++i) window.Add({At(i), WallTime(), 1});
  EXPECT_FALSE(window.TakesTurns()) << "few partitions";
  window.SpreadOver(10);
  EXPECT_FALSE(window.TakesTurns()) << "little in flight";
  for (uint64_t i = 9; i <= 10; ++i) window.Add({At(i), WallTime(), 1});
  EXPECT_TRUE(window.TakesTurns());
}

// The oldest waits for its turn, the others go on.
TEST(AcknowledgementWindow, SpreadItHasRoomBehindTheOldestRecord) {
  AcknowledgementWindow window(Limits(8));
  window.SpreadOver(16);  // 64 records
  window.Add({At(1), WallTime(), 1});
  uint64_t behind = 0;
  while (window.HasCapacity()) {
    ++behind;
    window.Acknowledge(window.Add({At(1 + behind), WallTime(), 1}));
  }
  EXPECT_EQ(behind, 4 * 64u - 1);
}

}  // namespace
}  // namespace walpost
