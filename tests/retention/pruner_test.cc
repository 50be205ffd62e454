// P11: which rows a pass deletes, and what stops it, against a server that
// changes in the middle of it.
#include "retention/pruner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <string>

#include "base/reason_code.h"
#include "checkpoint/birth_record.h"
#include "delivery/gap.h"
#include "support/each_statement.h"
#include "support/fake_postgres.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Rows = FakePostgres::Rows;

// Parts of the statements.
constexpr char kBegin[] = "SELECT now() - interval";
constexpr char kLock[] = "pg_try_advisory_lock";
constexpr char kShape[] = "c.relkind = 'p'";
constexpr char kLeaves[] = "= 'DEFAULT'";
constexpr char kMark[] = "pg_current_wal_insert_lsn";
constexpr char kSlot[] = "pg_replication_slots slot";
constexpr char kComment[] = "obj_description";
constexpr char kSystem[] = "pg_control_system";
constexpr char kCoverage[] = "LEFT JOIN tables wanted";
constexpr char kDelete[] = "DELETE FROM";
constexpr char kCount[] = "SELECT count(*) FILTER";

constexpr char kLimit[] = "2026-01-31 00:00:00+00";

class PrunerTest : public ::testing::Test {
 protected:
  PrunerTest() {
    options_.postgres.server = server_.options();
    options_.postgres.slot = "orders";
    options_.tables.resize(1);
    options_.tables[0].name = "public.outbox";
    options_.retention.pause = milliseconds(0);
    options_.gate_limit = milliseconds(1);
    server_.Answer(kBegin, {{kLimit, "f", std::nullopt}});
    server_.Answer(kLock, {{"t"}});
    server_.Answer(kShape,
                   {{"f", "outbox", std::nullopt, "created_at", std::nullopt}});
    server_.Answer(kLeaves, {Leaf("outbox")});
    server_.Answer(kSlot, Slot("0/400"));
    server_.Answer(kComment, {{Comment()}});
    server_.Answer(kSystem, {{"77", "1", "0/500"}});
    server_.Answer(kCoverage, Coverage("16388:690"));
    server_.Answer("age(s.catalog_xmin)", {{"f", "f"}});
    server_.Answer(kMark, {{"745", "0/300"}});
    server_.Answer("pg_logical_emit_message", {{"0/308"}});
    server_.Answer(kDelete, {{"3", "2026-01-30 12:00:00+00"}});
    server_.Answer(kCount, {{"0", "2", "1"}});
  }

  static FakePostgres::Row Leaf(const std::string& name,
                                const std::string& is_quick = "t") {
    return {name, std::nullopt, std::nullopt, is_quick, "163840", "f", "t"};
  }

  static Rows Slot(const std::string& confirmed) {
    return {{"pgoutput", "reserved", "t", "0/100", confirmed, "f", "f", "d",
             "d", "logical"}};
  }

  static std::string Comment(const std::string& gap = "") {
    BirthRecord record;
    record.slot = "orders";
    record.consistent_point = Lsn(0x100);
    record.system_identifier = "77";
    record.streamed_from = 700;
    record.born_at = WallTime(std::chrono::seconds(1'700'000'000));
    record.coverage = "16388:690,public.outbox=16385.r16394:691";
    record.gap = gap;
    return WithBirthRecord("", record);
  }

  static Rows Coverage(const std::string& publication) {
    return {{publication, "public.outbox", "16385.r16394:691"}};
  }

  absl::Status Prune() {
    pruner_ =
        std::make_unique<Pruner>(context_.get_executor(), std::move(options_));
    return Await(context_, pruner_->Run());
  }

  std::vector<std::string> Deletions() const {
    return server_.StatementsWith(kDelete);
  }

  // Checkpoints for one load after the other; the last one remains.
  void LoadInTurn(std::vector<Checkpoint> checkpoints) {
    options_.load_checkpoint = [checkpoints = std::move(checkpoints),
                                next = size_t{0}]() mutable
        -> boost::asio::awaitable<SlotProof::LoadedCheckpoint> {
      const size_t now = next;
      if (next + 1 < checkpoints.size()) ++next;
      co_return checkpoints[now];
    };
  }

  static Checkpoint Stored(Lsn confirmed, const std::string& gap = "") {
    Checkpoint checkpoint;
    checkpoint.system_identifier = "77";
    checkpoint.timeline = 1;
    checkpoint.slot = "orders";
    checkpoint.birth = Lsn(0x100);
    checkpoint.confirmed = confirmed;
    checkpoint.gap = gap;
    return checkpoint;
  }

  // Place of the last statement with these words.
  ptrdiff_t Last(const std::string& words) const {
    const auto& all = server_.statements();
    ptrdiff_t last = -1;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].find(words) != std::string::npos) {
        last = static_cast<ptrdiff_t>(i);
      }
    }
    return last;
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  Pruner::Options options_;
  std::unique_ptr<Pruner> pruner_;
};

TEST_F(PrunerTest, P11DeletesOldRowsThatCameThroughTheSlotBeforeTheMark) {
  const absl::Status status = Prune();
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_THAT(Deletions(), SizeIs(1));
  const std::string sql = Deletions()[0];
  EXPECT_THAT(sql, HasSubstr("created_at < '2026-01-31 00:00:00+00'"));
  EXPECT_THAT(sql, HasSubstr(" - 700 AND created_at >= "
                             "to_timestamp(1700000000)) AND "
                             "age('745'::xid8::xid) >= 0"));
  const Pruned& pruned = pruner_->pruned()[0];
  EXPECT_EQ(pruned.table, "public.outbox");
  EXPECT_EQ(pruned.rows.deleted, 3u);
  EXPECT_EQ(pruned.rows.kept, 2u);
  EXPECT_EQ(pruned.rows.unproven, 1u);
  EXPECT_THAT(pruned.doubt, HasSubstr("since transaction 700"));
}

// It commits at 0/320, behind the mark, as transaction 746, while the pass
// waits for the slot to confirm 0/300. Nobody knows whether it was sent.
TEST_F(PrunerTest, P11ACommitBetweenTheMarkAndTheDeletionStays) {
  server_.AnswerInTurn(kMark, {{{"745", "0/300"}}, {{"900", "0/330"}}});
  server_.AnswerInTurn(kSlot, {Slot("0/200"), Slot("0/200"), Slot("0/310")});
  options_.gate_limit = std::chrono::minutes(1);
  ASSERT_TRUE(Prune().ok());
  EXPECT_THAT(server_.StatementsWith(kMark), SizeIs(1));
  EXPECT_THAT(Deletions(), ElementsAre(HasSubstr("age('745'::xid8::xid)")));
}

TEST_F(PrunerTest, P11NothingIsDeletedBeforeTheSlotHasConfirmedTheMark) {
  server_.Answer(kSlot, Slot("0/2FF"));
  EXPECT_TRUE(absl::IsUnavailable(Prune()));
  EXPECT_THAT(Deletions(), IsEmpty());
}

// The server keeps all WAL that it needs, though more than it reserved.
TEST_F(PrunerTest, P11AnExtendedSlotIsAProof) {
  Rows slot = Slot("0/400");
  slot[0][1] = "extended";
  server_.Answer(kSlot, slot);
  EXPECT_TRUE(Prune().ok());
  EXPECT_THAT(Deletions(), SizeIs(1));
}

// The look that counts is the one after the mark.
TEST_F(PrunerTest, P11AGapThatAppearsBehindTheMarkStopsThePass) {
  server_.AnswerInTurn(kSlot, {Slot("0/200"), Slot("0/400")});
  server_.AnswerAfter(kMark, {{"745", "0/300"}}, [this] {
    server_.Answer(kCoverage, Coverage("16399:740"));
  });
  const absl::Status status = Prune();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(ReasonCodeOf(status), kGapCoverageChanged);
  EXPECT_THAT(Deletions(), IsEmpty());
  EXPECT_GT(Last(kCoverage), Last(kMark));
  EXPECT_EQ(pruner_->pruned()[0].rows.kept, 2u) << "the old rows are counted";
}

TEST_F(PrunerTest, P11AGapOnRecordStopsThePass) {
  server_.Answer(kComment, {{Comment(kGapWalForked)}});
  EXPECT_EQ(ReasonCodeOf(Prune()), kGapWalForked);
  EXPECT_THAT(Deletions(), IsEmpty());
}

// The relay stores the checkpoint first, and then confirms.
TEST_F(PrunerTest, P11ASlotThatMovedSinceTheCheckpointWasLoadedIsNoGap) {
  LoadInTurn({Stored(Lsn(0x380)), Stored(Lsn(0x400))});
  const absl::Status status = Prune();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(Deletions(), SizeIs(1));
}

TEST_F(PrunerTest, P11ASlotThatSomebodyElseMovedStopsThePass) {
  LoadInTurn({Stored(Lsn(0x380)), Stored(Lsn(0x3FF))});
  EXPECT_EQ(ReasonCodeOf(Prune()), kGapSlotAdvanced);
  EXPECT_THAT(Deletions(), IsEmpty());
}

// The relay finds it during the look that counts, which is after the mark.
TEST_F(PrunerTest, P11AGapInTheCheckpointThatIsLoadedAgainStopsThePass) {
  server_.AnswerInTurn(
      kSlot, {Slot("0/380"), Slot("0/380"), Slot("0/380"), Slot("0/400")});
  LoadInTurn({Stored(Lsn(0x380)), Stored(Lsn(0x380)),
              Stored(Lsn(0x400), "wal_forked the WAL has forked"),
              Stored(Lsn(0x400))});
  EXPECT_EQ(ReasonCodeOf(Prune()), kGapWalForked);
  EXPECT_THAT(Deletions(), IsEmpty());
}

TEST_F(PrunerTest, P11WithoutABirthRecordNothingIsDeleted) {
  server_.Answer(kComment, {{""}});
  const absl::Status status = Prune();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("walpost init"));
  EXPECT_THAT(Deletions(), IsEmpty());
}

TEST_F(PrunerTest, P11TheOperatorsWordCountsWithoutABirthRecord) {
  server_.Answer(kComment, {{""}});
  server_.Answer(kBegin, {{kLimit, "f", "2025-12-01 00:00:00+00"}});
  options_.assume_sent_before = "'2025-12-01'::timestamptz";
  ASSERT_TRUE(Prune().ok());
  EXPECT_THAT(Deletions(),
              ElementsAre(HasSubstr("((false) OR created_at < '2025-12-01 "
                                    "00:00:00+00'::timestamptz) AND age(")));
}

// The second table was added to the configuration later.
TEST_F(PrunerTest, P11OfTwoTablesEachHasItsOwnProof) {
  options_.tables.resize(2);
  options_.tables[1].name = "public.more";
  server_.Answer(kCoverage, {{"16388:690", "public.outbox", "16385.r16394:691"},
                             {"16388:690", "public.more", "16400.r16401:702"}});
  server_.AnswerInTurn(kLeaves, {{Leaf("outbox")}, {Leaf("more")}});
  ASSERT_TRUE(Prune().ok());
  ASSERT_THAT(Deletions(), SizeIs(2));
  EXPECT_THAT(Deletions()[0], HasSubstr("FROM ONLY outbox o WHERE"));
  EXPECT_THAT(Deletions()[0], HasSubstr(" - 700 AND "));
  EXPECT_THAT(Deletions()[1], HasSubstr("FROM ONLY more o WHERE"));
  EXPECT_THAT(Deletions()[1], HasSubstr("AND ((false) AND age("));
  EXPECT_THAT(pruner_->pruned()[1].doubt,
              HasSubstr("public.more was added to outbox.tables"));
}

TEST_F(PrunerTest, P11AChangeBetweenTwoTablesStopsThePass) {
  options_.tables.resize(2);
  options_.tables[1].name = "public.more";
  server_.AnswerAfter(kDelete, {{"3", "2026-01-30 12:00:00+00"}}, [this] {
    server_.Answer(kCoverage, Coverage("16399:740"));
  });
  EXPECT_EQ(ReasonCodeOf(Prune()), kGapCoverageChanged);
  EXPECT_THAT(Deletions(), SizeIs(1));
}

TEST_F(PrunerTest, ATableThatCannotBePrunedFailsThePassAfterTheOthers) {
  options_.tables.resize(2);
  options_.tables[1].name = "public.more";
  server_.AnswerInTurn(
      kShape, {{}, {{"f", "more", std::nullopt, "created_at", std::nullopt}}});
  server_.Answer(kLeaves, {Leaf("more")});
  const absl::Status status = Prune();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("table public.outbox does not exist"));
  EXPECT_THAT(Deletions(), ElementsAre(HasSubstr("FROM ONLY more o")));
}

TEST_F(PrunerTest, StopsBeforeTheFirstTableIfTheRelayHasStopped) {
  options_.may_go_on = [] { return false; };
  EXPECT_TRUE(absl::IsCancelled(Prune()));
  EXPECT_THAT(Deletions(), IsEmpty());
}

TEST_F(PrunerTest, AFullBatchIsFollowedByAnotherOneThatBeginsWhereItEnded) {
  options_.retention.batch_rows = 2;
  server_.AnswerInTurn(kDelete, {{{"2", "2026-01-10 00:00:00+00"}},
                                 {{"1", "2026-01-20 00:00:00+00"}}});
  ASSERT_TRUE(Prune().ok());
  EXPECT_THAT(Deletions(),
              ElementsAre(Not(HasSubstr("created_at >= '")),
                          HasSubstr("created_at >= '2026-01-10 00:00:00+00'")));
  EXPECT_EQ(pruner_->pruned()[0].rows.deleted, 3u);
}

TEST_F(PrunerTest, ADryRunDeletesNothingAndCountsTheSame) {
  options_.mode = RowPruner::Mode::kDryRun;
  server_.Answer(kCount, {{"5", "2", "1"}});
  ASSERT_TRUE(Prune().ok());
  EXPECT_THAT(Deletions(), IsEmpty());
  EXPECT_EQ(pruner_->pruned()[0].rows.deleted, 5u);
  EXPECT_EQ(pruner_->pruned()[0].rows.kept, 2u);
}

TEST_F(PrunerTest, DoesNotReadAWholeTableForEveryBatch) {
  server_.Answer(kLeaves, {Leaf("outbox", "f")});
  const absl::Status status = Prune();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("CREATE INDEX"));
  EXPECT_THAT(Deletions(), IsEmpty());
}

TEST_F(PrunerTest, DoesNotRunOnAStandby) {
  server_.Answer(kBegin, {{kLimit, "t", std::nullopt}});
  EXPECT_TRUE(absl::IsFailedPrecondition(Prune()));
  EXPECT_THAT(server_.StatementsWith(kLock), IsEmpty());
}

TEST_F(PrunerTest, DoesNotRunBesideAnotherPruner) {
  server_.Answer(kLock, {{"f"}});
  pruner_ =
      std::make_unique<Pruner>(context_.get_executor(), std::move(options_));
  pruner_->Stop();  // does not wait for the other one
  EXPECT_TRUE(absl::IsUnavailable(Await(context_, pruner_->Run())));
  EXPECT_THAT(server_.StatementsWith(kShape), IsEmpty());
}

TEST_F(PrunerTest, P11RowsWithAStateGoWhenItSaysSo) {
  options_.proof = SentProof::kState;
  options_.tables[0].state.status = "status";
  ASSERT_TRUE(Prune().ok());
  EXPECT_THAT(
      Deletions(),
      ElementsAre(HasSubstr("AND (\"status\" = 'published') ORDER BY")));
  EXPECT_THAT(server_.StatementsWith(kMark), IsEmpty());
}

TEST_F(PrunerTest, P11RowsThatNothingMarksStay) {
  options_.proof = SentProof::kNone;
  ASSERT_TRUE(Prune().ok());
  EXPECT_THAT(Deletions(), ElementsAre(HasSubstr("AND (false) ORDER BY")));
}

TEST_F(PrunerTest, AMissingRightIsNamedWithItsGrant) {
  server_.Fail(kDelete, "42501", "permission denied for table outbox");
  const absl::Status status = Prune();
  EXPECT_THAT(std::string(status.message()), HasSubstr("GRANT SELECT, DELETE"));
}

// A table with a past partition, and one that is searched.
TEST_F(PrunerTest, P11EachErrorOfAStatementFailsThePass) {
  server_.Answer(kShape, {{"t", "outbox", "at", "created_at", "add"}});
  server_.Answer(kLeaves, {{"past", "f", "t", "t", "1", "t", "t"},
                           {"rest", "t", std::nullopt, "t", "4", "t", "t"}});
  server_.Answer("SELECT add(", {{"2"}});
  server_.Answer("pg_relation_size", {{"1"}});
  server_.Answer("ctid >=", {{"f"}});
  server_.Answer("NOT granted", {{"f"}});
  server_.Answer("SELECT count(*) FILTER", {{"0", "0", "0"}});
  const Pruner::Options options = options_;
  const auto prune = [&] {
    options_ = options;
    return Prune();
  };
  EXPECT_THAT(testing::UnreportedFailures(server_, prune), IsEmpty());
}

// Rows of a partition that stays are counted with those of the table.
TEST_F(PrunerTest, P11APartitionThatStaysIsNamedAndItsRowsAreCounted) {
  server_.Answer(kShape, {{"t", "outbox", "at", "created_at", std::nullopt}});
  server_.Answer(kLeaves, {{"one", "f", "t", "t", "1", "t", "t"},
                           {"two", "f", "t", "t", "2", "t", "t"},
                           {"rest", "t", std::nullopt, "t", "4", "t", "t"}});
  server_.AnswerInTurn(
      kCount, {{{"9", "4", "3"}}, {{"9", "5", "0"}}, {{"0", "2", "1"}}});
  ASSERT_TRUE(Prune().ok());
  const Pruned& pruned = pruner_->pruned()[0];
  EXPECT_THAT(
      pruned.not_dropped,
      ElementsAre("one: it holds 3 rows without proof that they were sent",
                  "two: it holds rows that are not confirmed yet"));
  EXPECT_THAT(pruned.dropped, IsEmpty());
  EXPECT_EQ(pruned.rows.kept, 11u);
  EXPECT_EQ(pruned.rows.unproven, 4u);
  EXPECT_EQ(pruned.rows.deleted, 3u);
}

}  // namespace
}  // namespace walpost
