#include "backfill/table_backfill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/reason_code.h"
#include "outbox/event_digest.h"
#include "support/memory_sink.h"
#include "support/rows.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemorySink;
using testing::OwnedRow;
using testing::Text;
using Do = TableBackfill::Do;

constexpr Lsn kSlot{0x700};

OutboxOptions Outbox() {
  OutboxOptions options;
  options.tables.resize(2);
  options.tables[0].name = "public.outbox";
  options.tables[1].name = "public.orders";
  options.route.topic = "t.{aggregate_type}";
  return options;
}

pgoutput::RelationSchema Schema() {
  return testing::MakeTable(
      "public", "outbox",
      {{"id"}, {"seq"}, {"aggregate_type"}, {"aggregate_id"}, {"payload"}});
}

class TableBackfillTest : public ::testing::Test {
 protected:
  void SetUp() override { Make({}); }

  void Make(TableBackfill::Options options) {
    sender_ = std::make_unique<Sender>(RecordBuilder::Create(outbox_).value(),
                                       AcknowledgementWindow::Options{});
    sender_->SetSink(&kafka_);
    sender_->SetErrorActions(options.on_error, nullptr);
    rows_ =
        std::make_unique<TableBackfill>(outbox_, *sender_, std::move(options));
  }

  static TableBackfill::Options WithLedger() {
    TableBackfill::Options options;
    options.ledger = kSlot;
    return options;
  }

  void BeginWithLedger() {
    Make(WithLedger());
    ASSERT_TRUE(rows_->Load("").ok());
    rows_->Begin();
    Open();
  }
  Do Next(milliseconds at = {}) {
    return rows_->Next(MonotonicTime(at), may_send_);
  }
  void Open(uint64_t rows = 3) {
    ASSERT_EQ(Next(), Do::kOpenTable);
    ASSERT_TRUE(rows_->OnTable(Schema(), {"seq"}, false, rows).ok());
  }
  void Read(const std::string& id, const std::string& seq,
            const std::string& type = "order", milliseconds at = {}) {
    ASSERT_EQ(Next(at), Do::kRead) << id;
    owned_.emplace_back(RowOf(id, seq, type));
    rows_->OnRow(owned_.back().row(), RowOrigin::kOwn, WallTime());
  }
  static testing::Cells RowOf(const std::string& id, const std::string& seq,
                              const std::string& type = "order") {
    return {Text(id), Text(seq), Text(type), Text("key"),
            Text("value of " + id)};
  }
  void EndTable() {
    ASSERT_EQ(Next(), Do::kRead);
    rows_->OnTableEnd();
  }
  void Acknowledge(size_t records = 1'000) {
    for (; records > 0 && reported_ < kafka_.accepted().size(); --records) {
      sender_->OnAcknowledged(kafka_.accepted()[reported_++].sequence,
                              WallTime());
    }
  }
  std::vector<std::string> Sent() const {
    std::vector<std::string> values;
    for (const MemorySink::Accepted& record : kafka_.accepted()) {
      values.push_back(*record.value);
    }
    return values;
  }
  // The ledger of a commit that has succeeded.
  std::string Commit(milliseconds at = {}) {
    EXPECT_EQ(Next(at), Do::kCommit);
    const std::string ledger = rows_->ledger();
    rows_->OnCommitted(absl::OkStatus());
    return ledger;
  }

  OutboxOptions outbox_ = Outbox();
  MemorySink kafka_;
  std::unique_ptr<Sender> sender_;
  std::unique_ptr<TableBackfill> rows_;
  std::deque<OwnedRow> owned_;
  size_t reported_ = 0;
  bool may_send_ = true;
};

TEST_F(TableBackfillTest, PublishesOneTableAfterTheOther) {
  rows_->Begin();
  Open(2);
  EXPECT_EQ(rows_->table(), 0);
  Read("1", "1");
  Read("2", "2");
  EndTable();
  EXPECT_EQ(Next(), Do::kWait) << "for the acknowledgements";
  Acknowledge();
  Open(1);
  EXPECT_EQ(rows_->table(), 1);
  Read("3", "1");
  EndTable();
  Acknowledge();
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_TRUE(rows_->status().ok());
  EXPECT_EQ(rows_->done(), 3);
  EXPECT_EQ(rows_->all(), 3);
  EXPECT_EQ(rows_->counts().published, 3);
  EXPECT_EQ(rows_->counts().rows, 3);
}

TEST_F(TableBackfillTest, ReadsOnlyTheTablesThatAreMeant) {
  TableBackfill::Options options;
  options.tables = {"public.orders"};
  Make(std::move(options));
  rows_->Begin();
  EXPECT_EQ(Next(), Do::kOpenTable);
  EXPECT_EQ(rows_->table(), 1);
}

TEST_F(TableBackfillTest, ContinuesBehindTheLastAcknowledgedRow) {
  rows_->Begin();
  Open();
  Read("1", "1");
  Read("2", "2");
  Read("3", "2");
  ASSERT_EQ(Next(), Do::kRead);
  Acknowledge(2);
  rows_->Fail(absl::UnavailableError("the connection is lost"));
  EXPECT_EQ(Next(), Do::kWait) << "for what is in flight";
  Acknowledge();
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_TRUE(absl::IsUnavailable(rows_->status()));
  EXPECT_EQ(rows_->done(), 3);

  rows_->Begin();
  ASSERT_EQ(Next(), Do::kOpenTable);
  ASSERT_NE(rows_->key(), nullptr);
  EXPECT_THAT(*rows_->key(), ElementsAre("2"));
  EXPECT_FALSE(rows_->needs_count()) << "its rows are counted";
  Open(0);
  Read("3", "2");
  Read("2", "2");
  Read("4", "2");
  ASSERT_EQ(Next(), Do::kRead);
  EXPECT_THAT(Sent(), ElementsAre("value of 1", "value of 2", "value of 3",
                                  "value of 4"));
  EXPECT_EQ(rows_->all(), 3);
}

TEST_F(TableBackfillTest, RowsOfASinkThatIsReplacedAreReadAgain) {
  rows_->Begin();
  Open();
  Read("1", "1");
  Read("2", "2");
  ASSERT_EQ(Next(), Do::kRead);
  Acknowledge(1);
  sender_->OnSinkFailed(absl::AbortedError("fatal"));
  EndTable();
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_TRUE(absl::IsAborted(rows_->status()));
  EXPECT_FALSE(rows_->has_rejected_rows());
  rows_->OnSinkReplaced();
  rows_->Begin();
  ASSERT_EQ(Next(), Do::kOpenTable);
  EXPECT_THAT(*rows_->key(), ElementsAre("1"));
  EXPECT_EQ(rows_->done(), 1);
}

TEST_F(TableBackfillTest, StopsBeforeARowThatCannotBeDelivered) {
  rows_->Begin();
  Open();
  Read("1", "1");
  Read("2", "2", "an order");
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_THAT(rows_->status().message(),
              HasSubstr("row 2 of table public.outbox cannot be delivered"));
  EXPECT_THAT(rows_->status().message(),
              HasSubstr("--set on_error.topic_illegal=skip"));
  ASSERT_TRUE(rows_->stoppage());
  EXPECT_EQ(rows_->stoppage()->event_id, "2");
  EXPECT_THAT(Sent(), ElementsAre("value of 1"));
  EXPECT_FALSE(rows_->has_rejected_rows()) << "an operator decides";
  rows_->Begin();
  EXPECT_FALSE(rows_->stoppage());
}

TEST_F(TableBackfillTest, SetsAsideWhatTheBrokersRejectAlone) {
  TableBackfill::Options options;
  options.on_error.Set(FindErrorClass(kReasonRecordTooLarge),
                       ErrorAction::kSkip);
  Make(std::move(options));
  rows_->Begin();
  Open();
  Read("1", "1");
  ASSERT_EQ(Next(), Do::kRead);
  sender_->OnNotDelivered(kafka_.accepted()[0].sequence,
                          Undeliverable(kReasonRecordTooLarge, "too large"));
  EndTable();
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_FALSE(rows_->stoppage());
  EXPECT_TRUE(rows_->has_rejected_rows());
  rows_->OnSinkReplaced();
  rows_->Begin();
  Open(0);
  Read("1", "1");
  EndTable();
  Open();
  EXPECT_EQ(rows_->counts().set_aside, 1);
  EXPECT_EQ(rows_->done(), 1);
}

TEST_F(TableBackfillTest, LeavesOutWhatIsOnRecordOrReplicatedOrStreamed) {
  const std::vector<std::string> sources = {"public.outbox", "public.orders"};
  EventsOnRecord on_record(sources);
  Event skipped;
  skipped.id = "2";
  on_record.Add(
      {Disposition::kSkipped, EventDigest(sources[0], skipped), Lsn()});
  rows_->SetOnRecord(std::move(on_record));
  EventSet streamed;
  Event pending;
  const std::vector<std::string> references = {"aggregate_type"};
  const auto mapper =
      TableMapper::Create(outbox_.tables[0], Schema(), references).value();
  owned_.emplace_back(RowOf("4", "4"));
  ASSERT_TRUE(mapper->Map(owned_.back().row(), pending).ok());
  ASSERT_TRUE(streamed.Add(pending));
  rows_->SetLeftOut(std::move(streamed));
  rows_->Begin();
  Open();
  Read("1", "1");
  Read("2", "2");
  ASSERT_EQ(Next(), Do::kRead);
  owned_.emplace_back(RowOf("3", "3"));
  rows_->OnRow(owned_.back().row(), RowOrigin::kOther, WallTime());
  Read("4", "4");
  ASSERT_EQ(Next(), Do::kRead);
  EXPECT_THAT(Sent(), ElementsAre("value of 1"));
  EXPECT_EQ(rows_->counts().left_out.of(Disposition::kSkipped), 1);
  EXPECT_EQ(rows_->counts().other_origin, 1);
  EXPECT_EQ(rows_->counts().rows, 3) << "the stream has the fourth";
}

TEST_F(TableBackfillTest, AnUnknownOriginEndsTheRound) {
  rows_->Begin();
  Open();
  ASSERT_EQ(Next(), Do::kRead);
  owned_.emplace_back(RowOf("3", "3"));
  rows_->OnRow(owned_.back().row(), RowOrigin::kUnknown, WallTime());
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_TRUE(absl::IsFailedPrecondition(rows_->status()));
  EXPECT_THAT(rows_->status().message(), HasSubstr("postgres.origin=any"));
}

TEST_F(TableBackfillTest, ADryRunOnlyCounts) {
  TableBackfill::Options options;
  options.preview = RecordBuilder::Create(outbox_).value();
  options.on_error.Set(FindErrorClass(kReasonTopicIllegal), ErrorAction::kSkip);
  std::vector<std::string> said;
  options.on_row = [&said](const Event& event, std::string_view what) {
    said.push_back(std::string(*event.id) + " " + std::string(what));
  };
  Make(std::move(options));
  rows_->Begin();
  Open();
  Read("1", "1");
  Read("2", "2", "an order");
  EndTable();
  Open();
  EXPECT_THAT(Sent(), IsEmpty());
  EXPECT_EQ(rows_->counts().published, 1);
  EXPECT_EQ(rows_->counts().set_aside, 1);
  EXPECT_THAT(said, ElementsAre("1 to be published", "2 not deliverable"));
}

TEST_F(TableBackfillTest, SendsNoMoreThanTheRate) {
  TableBackfill::Options options;
  options.per_second = 2;
  Make(std::move(options));
  rows_->Begin();
  Open();
  Read("1", "1", "order", seconds(10));
  Read("2", "2", "order", seconds(10));
  EXPECT_EQ(Next(seconds(10)), Do::kWait);
  EXPECT_THAT(Sent(), ElementsAre("value of 1"));
  EXPECT_EQ(Next(seconds(11)), Do::kRead);
  EXPECT_THAT(Sent(), ElementsAre("value of 1", "value of 2"));
}

TEST_F(TableBackfillTest, APauseSettlesWhatWasSent) {
  rows_->Begin();
  Open();
  Read("1", "1");
  ASSERT_EQ(Next(), Do::kRead);
  may_send_ = false;
  EXPECT_EQ(Next(), Do::kWait);
  Acknowledge();
  EXPECT_EQ(Next(), Do::kWait);
  EXPECT_EQ(rows_->done(), 1);
  may_send_ = true;
  EXPECT_EQ(Next(), Do::kRead);
}

TEST_F(TableBackfillTest, StopEndsARoundAndEachLaterOne) {
  rows_->Begin();
  Open();
  Read("1", "1");
  rows_->Stop();
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_TRUE(absl::IsCancelled(rows_->status()));
  rows_->Begin();
  ASSERT_TRUE(rows_->OnTable(Schema(), {"seq"}, false, 1).ok());
  EXPECT_EQ(Next(), Do::kEnd);
}

// ---- With a ledger.

TEST_F(TableBackfillTest, ACommitHasTheRowsSoFar) {
  Make(WithLedger());
  EXPECT_TRUE(rows_->needs_ledger());
  ASSERT_TRUE(rows_->Load("").ok());
  EXPECT_FALSE(rows_->needs_ledger());
  rows_->Begin();
  Open();
  Read("1", "1", "order", seconds(10));
  ASSERT_EQ(Next(seconds(10)), Do::kRead);
  Acknowledge();
  EXPECT_EQ(rows_->done(), 0) << "it is not committed";
  const SnapshotProgress progress =
      DecodeSnapshotProgress(Commit(seconds(11))).value();
  EXPECT_EQ(progress.begins_at, kSlot);
  EXPECT_EQ(progress.table, "public.outbox");
  EXPECT_EQ(progress.place.done, 1);
  ASSERT_TRUE(progress.place.key);
  EXPECT_THAT(*progress.place.key, ElementsAre("1"));
  EXPECT_THAT(progress.order_columns, ElementsAre("seq"));
  EXPECT_EQ(rows_->done(), 1);
}

TEST_F(TableBackfillTest, ATableIsDoneWithItsCommit) {
  BeginWithLedger();
  Read("1", "1");
  EndTable();
  ASSERT_EQ(Next(), Do::kWait);
  Acknowledge();
  const SnapshotProgress progress = DecodeSnapshotProgress(Commit()).value();
  EXPECT_THAT(progress.tables_done, ElementsAre("public.outbox"));
  EXPECT_EQ(progress.rows_done, 1);
  EXPECT_EQ(progress.table, "");
  EXPECT_FALSE(progress.place.key);
  EXPECT_EQ(Next(), Do::kOpenTable);
  EXPECT_EQ(rows_->table(), 1);
}

TEST_F(TableBackfillTest, AnotherProcessContinuesBehindTheLedger) {
  SnapshotProgress before;
  before.begins_at = kSlot;
  before.tables_done = {"public.outbox"};
  before.rows_done = 5;
  before.table = "public.orders";
  before.place.key = ScanCursor::Key{"7"};
  before.place.done = 2;
  before.order_columns = {"seq"};
  Make(WithLedger());
  ASSERT_TRUE(rows_->Load(EncodeSnapshotProgress(before)).ok());
  EXPECT_EQ(rows_->all(), 7);
  rows_->Begin();
  ASSERT_EQ(Next(), Do::kOpenTable);
  EXPECT_EQ(rows_->table(), 1);
  EXPECT_THAT(*rows_->key(), ElementsAre("7"));
  EXPECT_THAT(rows_->order_columns(), ElementsAre("seq"));
  EXPECT_EQ(rows_->done(), 7);
}

TEST_F(TableBackfillTest, TheLedgerOfAnotherSlotDoesNotCount) {
  SnapshotProgress before;
  before.begins_at = Lsn(kSlot.value() - 1);
  before.tables_done = {"public.outbox"};
  Make(WithLedger());
  ASSERT_TRUE(rows_->Load(EncodeSnapshotProgress(before)).ok());
  rows_->Begin();
  ASSERT_EQ(Next(), Do::kOpenTable);
  EXPECT_EQ(rows_->table(), 0);
  EXPECT_TRUE(absl::IsDataLoss(rows_->Load("\xff")));
}

TEST_F(TableBackfillTest, IfTheLedgerIsGoneThisProcessKnowsBest) {
  BeginWithLedger();
  EndTable();
  Commit();
  rows_->OnSinkReplaced();
  EXPECT_TRUE(rows_->needs_ledger());
  ASSERT_TRUE(rows_->Load("").ok());
  rows_->Begin();
  ASSERT_EQ(Next(), Do::kOpenTable);
  EXPECT_EQ(rows_->table(), 1);
}

TEST_F(TableBackfillTest, AfterACommitThatFailedTheLedgerTells) {
  BeginWithLedger();
  Read("1", "1");
  EndTable();
  ASSERT_EQ(Next(), Do::kWait);
  Acknowledge();
  ASSERT_EQ(Next(), Do::kCommit);
  rows_->OnCommitted(absl::UnavailableError("no answer"));
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_TRUE(absl::IsUnavailable(rows_->status()));
  EXPECT_EQ(rows_->done(), 0);
  EXPECT_TRUE(rows_->needs_ledger());
}

// The brokers reject the last row before a commit: nothing can be committed.
TEST_F(TableBackfillTest, ARowThatIsRejectedAtACommitStopsTheFlow) {
  BeginWithLedger();
  Read("1", "1");
  EndTable();
  ASSERT_EQ(Next(), Do::kWait);
  sender_->OnNotDelivered(kafka_.accepted()[0].sequence,
                          Undeliverable(kReasonRecordTooLarge, "too large"));
  EXPECT_EQ(Next(), Do::kEnd);
  ASSERT_TRUE(rows_->stoppage());
  EXPECT_EQ(rows_->stoppage()->event_id, "1");
}

TEST_F(TableBackfillTest, RowsBeforeOneThatStopsTheFlowAreCommitted) {
  BeginWithLedger();
  Read("1", "1");
  Read("2", "2", "an order");
  ASSERT_EQ(Next(), Do::kWait);
  Acknowledge();
  const SnapshotProgress progress = DecodeSnapshotProgress(Commit()).value();
  EXPECT_EQ(progress.place.done, 1);
  EXPECT_EQ(Next(), Do::kEnd);
  EXPECT_TRUE(rows_->stoppage());
}

TEST(CommitPaceTest, IsDueByRecordsBytesOrAge) {
  CommitPace pace;
  const MonotonicTime begin{seconds(5)};
  EXPECT_FALSE(pace.IsDue(begin + seconds(60))) << "there are no rows";
  pace.OnRow(10, begin);
  EXPECT_FALSE(pace.IsDue(begin + milliseconds(999)));
  EXPECT_TRUE(pace.IsDue(begin + CommitPace::kMaxAge));
  pace.OnCommitted();
  EXPECT_FALSE(pace.IsDue(begin + seconds(60)));
  pace.OnRow(CommitPace::kMaxBytes, begin);
  EXPECT_TRUE(pace.IsDue(begin));
  pace.OnCommitted();
  for (uint64_t i = 1; i < CommitPace::kMaxRecords; ++i) pace.OnRow(1, begin);
  EXPECT_FALSE(pace.IsDue(begin));
  pace.OnRow(1, begin);
  EXPECT_TRUE(pace.IsDue(begin));
}

TEST(CommitPaceTest, BeginsSmallAfterAFailure) {
  CommitPace pace;
  const MonotonicTime now{seconds(5)};
  pace.OnTakeOver();
  pace.OnRow(1, now);
  EXPECT_FALSE(pace.IsDue(now)) << "nothing has failed";
  pace.OnTakeOver();
  pace.OnRow(1, now);
  EXPECT_TRUE(pace.IsDue(now));
  pace.OnCommitted();
  pace.OnRow(1, now);
  EXPECT_FALSE(pace.IsDue(now));
  pace.OnRow(1, now);
  EXPECT_TRUE(pace.IsDue(now)) << "twice as many";
}

}  // namespace
}  // namespace walpost
