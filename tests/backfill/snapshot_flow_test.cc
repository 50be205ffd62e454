#include "backfill/snapshot_flow.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/sqlstate.h"

namespace walpost {
namespace {

using Do = SnapshotFlow::Do;
using Shows = SnapshotFlow::Shows;

absl::Status Lost() { return absl::UnavailableError("lost"); }

class SnapshotFlowTest : public ::testing::Test {
 protected:
  // Up to the first round of rows.
  static void Publish(SnapshotFlow& flow, Shows shows = Shows::kPresent) {
    flow.Begin();
    flow.OnOpened(SlotHistory::kUnused, false);
    flow.OnBegun(shows);
    while (flow.Next() != Do::kPublish) flow.On(absl::OkStatus());
  }

  SnapshotFlow flow_{{}};
  SnapshotFlow exactly_once_{{.has_ledger = true}};
};

TEST_F(SnapshotFlowTest, RecordsWhenEveryRowIsSent) {
  flow_.Begin();
  EXPECT_EQ(flow_.Next(), Do::kOpen);
  flow_.OnOpened(SlotHistory::kNone, false);
  EXPECT_EQ(flow_.Next(), Do::kBegin);
  flow_.OnBegun(Shows::kAllBeforeSlot);
  for (const Do next : {Do::kPrepare, Do::kReadOnRecord}) {
    EXPECT_EQ(flow_.Next(), next);
    EXPECT_FALSE(flow_.is_publishing());
    flow_.On(absl::OkStatus());
  }
  EXPECT_EQ(flow_.Next(), Do::kPublish);
  EXPECT_TRUE(flow_.is_publishing());
  flow_.OnPublished(absl::OkStatus(), false, false);
  for (const Do next : {Do::kEndTransaction, Do::kRecord}) {
    EXPECT_EQ(flow_.Next(), next);
    EXPECT_FALSE(flow_.is_done());
    flow_.On(absl::OkStatus());
  }
  EXPECT_EQ(flow_.Next(), Do::kReturn);
  EXPECT_TRUE(flow_.status().ok());
  EXPECT_TRUE(flow_.is_done());
  flow_.Begin();
  EXPECT_EQ(flow_.Next(), Do::kReturn) << "once is enough";
}

TEST_F(SnapshotFlowTest, IsNotDueForASlotThatIsUsedOrMissing) {
  for (const SlotHistory history :
       {SlotHistory::kUsed, SlotHistory::kMissing}) {
    SnapshotFlow flow({});
    flow.Begin();
    flow.OnOpened(history, false);
    EXPECT_EQ(flow.Next(), Do::kReturn);
    EXPECT_TRUE(flow.is_done());
  }
  SnapshotFlow may_not({.may_make_slot = false});
  may_not.Begin();
  may_not.OnOpened(SlotHistory::kNone, false);
  EXPECT_TRUE(may_not.is_done());
  flow_.Begin();
  flow_.OnOpened(SlotHistory::kUsed, /*has_new_tables=*/true);
  EXPECT_EQ(flow_.Next(), Do::kBegin);
}

// Only with transactions: else the stream repeats these rows.
TEST_F(SnapshotFlowTest, LeavesRowsToTheStreamIfItShowsThem) {
  const auto surveys = [](SnapshotFlow& flow, Shows shows) {
    flow.Begin();
    flow.OnOpened(SlotHistory::kUnused, false);
    flow.OnBegun(shows);
    flow.On(absl::OkStatus());
    return flow.Next() == Do::kSurvey;
  };
  EXPECT_TRUE(surveys(exactly_once_, Shows::kPresent));
  exactly_once_.On(absl::OkStatus());
  EXPECT_EQ(exactly_once_.Next(), Do::kReadOnRecord);
  EXPECT_FALSE(surveys(exactly_once_, Shows::kAllBeforeSlot));
  EXPECT_FALSE(surveys(flow_, Shows::kPresent));
}

TEST_F(SnapshotFlowTest, ReplacesASinkOnlyWithTheLock) {
  Publish(exactly_once_);
  exactly_once_.OnPublished(Lost(), false, /*sink_failed=*/true);
  for (const Do next : {Do::kAwaitSink, Do::kCheckLock, Do::kReplaceSink}) {
    EXPECT_EQ(exactly_once_.Next(), next);
    exactly_once_.On(absl::OkStatus());
  }
  EXPECT_EQ(exactly_once_.Next(), Do::kPublish);
  exactly_once_.OnPublished(Lost(), false, true);
  exactly_once_.On(absl::OkStatus());
  exactly_once_.On(Lost());
  EXPECT_EQ(exactly_once_.Next(), Do::kReturn);
  EXPECT_TRUE(absl::IsUnavailable(exactly_once_.status()));
  EXPECT_FALSE(exactly_once_.is_publishing());
}

TEST_F(SnapshotFlowTest, WithoutTransactionsNobodyIsFenced) {
  Publish(flow_);
  flow_.OnPublished(Lost(), false, true);
  flow_.On(absl::OkStatus());
  EXPECT_EQ(flow_.Next(), Do::kReplaceSink);
}

TEST_F(SnapshotFlowTest, ARowThatCannotBeDeliveredAwaitsAnOperator) {
  Publish(flow_);
  flow_.OnPublished(absl::InvalidArgumentError("row 1"), /*is_blocked=*/true,
                    false);
  EXPECT_EQ(flow_.Next(), Do::kAwaitOperator);
  flow_.On(absl::OkStatus());
  EXPECT_EQ(flow_.Next(), Do::kReplaceSink);
  flow_.On(absl::OkStatus());
  EXPECT_EQ(flow_.Next(), Do::kOpen) << "in another transaction";
  // What the next attempt comes to says less than the row.
  flow_.On(Lost());
  EXPECT_EQ(flow_.Next(), Do::kAwaitOperator);
  flow_.On(absl::OkStatus());
  flow_.On(absl::FailedPreconditionError("no sink"));
  EXPECT_EQ(flow_.Next(), Do::kReturn);
  EXPECT_TRUE(absl::IsFailedPrecondition(flow_.status()));
}

TEST_F(SnapshotFlowTest, AnotherSlotHasOtherRows) {
  Publish(flow_);
  flow_.OnPublished(absl::InvalidArgumentError("row 1"), true, false);
  flow_.On(absl::OkStatus());
  flow_.On(absl::OkStatus());
  flow_.OnOpened(SlotHistory::kUnused, false);
  flow_.OnBegun(Shows::kPresent);
  flow_.OnOtherSlot();
  flow_.On(Lost());
  EXPECT_EQ(flow_.Next(), Do::kReturn);
}

// It is said at once: about names and rights. Everything else may pass.
TEST_F(SnapshotFlowTest, KnowsWhichErrorsMayPass) {
  const auto after = [](const absl::Status& error, bool is_lost) {
    SnapshotFlow flow({});
    Publish(flow);
    if (is_lost) flow.OnConnectionLost();
    flow.OnPublished(error, false, false);
    return flow.status();
  };
  const absl::Status denied = absl::PermissionDeniedError("denied");
  EXPECT_TRUE(
      absl::IsPermissionDenied(after(WithSqlstate(denied, "42501"), false)));
  EXPECT_TRUE(absl::IsUnavailable(after(WithSqlstate(denied, "42501"), true)));
  EXPECT_TRUE(absl::IsUnavailable(after(WithSqlstate(denied, "57014"), false)));
  EXPECT_TRUE(absl::IsPermissionDenied(after(denied, false)));
  EXPECT_TRUE(
      absl::IsUnavailable(after(absl::DeadlineExceededError("late"), false)));
}

TEST_F(SnapshotFlowTest, DoesNotRepeatRowsWhenOnlyTheRecordFails) {
  Publish(flow_);
  flow_.OnPublished(absl::OkStatus(), false, false);
  flow_.On(absl::OkStatus());
  flow_.On(Lost());
  EXPECT_TRUE(absl::IsUnavailable(flow_.status()));
  flow_.Begin();
  flow_.OnOpened(SlotHistory::kUnused, false);
  EXPECT_EQ(flow_.Next(), Do::kRecord);
  flow_.On(absl::AbortedError("another slot"));
  EXPECT_TRUE(absl::IsUnavailable(flow_.status()));
  flow_.Begin();
  flow_.OnOpened(SlotHistory::kUnused, false);
  EXPECT_EQ(flow_.Next(), Do::kBegin) << "its rows are to be sent";
}

TEST_F(SnapshotFlowTest, ARecordThatMayNotBeWrittenDoesNotHoldUpTheStream) {
  Publish(flow_);
  flow_.OnPublished(absl::OkStatus(), false, false);
  flow_.On(absl::OkStatus());
  flow_.On(absl::PermissionDeniedError("not the owner"));
  EXPECT_TRUE(flow_.is_done());
  EXPECT_TRUE(flow_.status().ok());
}

TEST_F(SnapshotFlowTest, StopsWhereverItIs) {
  for (size_t steps = 0; steps < 4; ++steps) {
    SnapshotFlow flow({});
    flow.Begin();
    if (steps > 0) flow.OnOpened(SlotHistory::kUnused, false);
    if (steps > 1) flow.OnBegun(Shows::kPresent);
    if (steps > 2) flow.On(absl::OkStatus());
    flow.Stop();
    flow.On(absl::OkStatus());
    EXPECT_EQ(flow.Next(), Do::kReturn) << steps;
    EXPECT_TRUE(absl::IsCancelled(flow.status()));
  }
  Publish(flow_);
  flow_.Stop();
  flow_.OnPublished(absl::CancelledError("told to end"), false, true);
  EXPECT_TRUE(absl::IsCancelled(flow_.status()));
  flow_.Begin();
  EXPECT_EQ(flow_.Next(), Do::kReturn);
}

// What was sent is put on record, so that the next start need not repeat it.
TEST_F(SnapshotFlowTest, RecordsWhatWasSentBeforeItWasStopped) {
  Publish(flow_);
  flow_.OnPublished(absl::OkStatus(), false, false);
  flow_.Stop();
  flow_.On(absl::OkStatus());
  EXPECT_EQ(flow_.Next(), Do::kRecord);
  flow_.On(absl::OkStatus());
  EXPECT_TRUE(flow_.status().ok());
}

}  // namespace
}  // namespace walpost
