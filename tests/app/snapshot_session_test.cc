// The database side of the initial snapshot: which history leads to which
// transaction, what is made, and what is put on record.
#include "app/backfill/snapshot_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "base/sqlstate.h"
#include "support/each_statement.h"
#include "support/fake_postgres.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using testing::Await;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using namespace testing::wal_source;  // the words of the statements

constexpr char kLock[] = "pg_try_advisory_lock";
constexpr char kBegin[] = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ";
constexpr char kColumns[] = "format_type(a.atttypid";
constexpr char kOrder[] = "a.attidentity";
constexpr char kUnknownOrigin[] = "pg_xact_commit_timestamp_origin";
constexpr char kMakePublication[] = "CREATE PUBLICATION";
const std::optional<std::string> kNull;

class SnapshotSessionTest : public ::testing::Test {
 protected:
  SnapshotSessionTest() {
    config_.postgres.server = server_.options();
    config_.postgres.slot = "orders";
    config_.postgres.publication = "outbox";
    config_.postgres.create = true;
    config_.outbox.tables.resize(2);
    config_.outbox.tables[0].name = "app.one";
    config_.outbox.tables[1].name = "app.two";
    testing::AnswerWalSource(server_);
    server_.Answer(kCoverage, {{"16388:690", "app.one", "1.r1:5"},
                               {"16388:690", "app.two", "2.r2:6"}});
    server_.Answer(kColumns, {{"0", "id", "20", "bigint", "", kNull},
                              {"0", "payload", "25", "text", "", kNull}});
    server_.Answer(kOrder, {{"id", "20", "t"}});
    server_.Answer(kLock, {{"t"}});
    server_.Answer("SELECT pg_catalog.pg_current_wal_insert_lsn()",
                   {{"0/700"}});
    session_.emplace(context_.get_executor(), config_);
  }

  SlotHistory Open() {
    const auto history = Await(context_, session_->Open());
    EXPECT_TRUE(history.ok()) << history.status();
    return history.value_or(SlotHistory::kMissing);
  }
  absl::Status Begin(SlotHistory history) {
    return Await(context_, session_->Begin(history));
  }
  absl::Status Record() { return Await(context_, session_->Record()); }
  absl::Status CheckBefore() {
    return Await(context_, session_->CheckBefore());
  }

  static BirthRecord Birth(const std::string& coverage = "16388:690") {
    BirthRecord record;
    record.slot = "orders";
    record.consistent_point = Lsn(0x150);
    record.system_identifier = "77";
    record.timeline = 3;
    record.coverage = coverage;
    record.added.emplace();
    return record;
  }
  void SetBirth(const std::optional<BirthRecord>& record) {
    server_.Answer(kComments,
                   {{record ? WithBirthRecord("", *record) : std::string()}});
  }
  BirthRecord Written() {
    const auto written = server_.StatementsWith(kComment);
    if (written.empty()) return {};
    return FindBirthRecord(testing::CommentOf(written.back()), "orders")
        .value_or(BirthRecord());
  }
  // A slot that nobody has made yet.
  void SetNothing() {
    server_.Answer(kSlot, {});
    SetBirth(std::nullopt);
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  Config config_;
  std::optional<SnapshotSession> session_;
};

TEST_F(SnapshotSessionTest, NoSettingOfTheRoleEndsTheTransaction) {
  Open();
  for (const char* setting :
       {"idle_in_transaction_session_timeout", "idle_session_timeout",
        "statement_timeout", "lock_timeout", "transaction_timeout"}) {
    EXPECT_THAT(server_.statements(),
                Contains(fmt::format("SET {} = 0", setting)));
  }
}

TEST_F(SnapshotSessionTest, P1WithoutASlotOneIsMadeThatTheRowsEndAt) {
  SetNothing();
  EXPECT_EQ(Open(), SlotHistory::kNone);
  ASSERT_TRUE(Begin(SlotHistory::kNone).ok());
  EXPECT_TRUE(session_->is_exact());
  EXPECT_EQ(session_->visible_before(), Lsn(0x700));
  SnapshotSession::Target target;
  target.system_identifier = "77";
  target.begins_at = Lsn(0x300);
  target.stands_at = Lsn(0x300);
  EXPECT_EQ(session_->target(), target);
  const auto& said = server_.statements();
  const auto at = [&](const char* words) {
    return std::ranges::find_if(said,
                                [&](const std::string& sql) {
                                  return sql.find(words) != std::string::npos;
                                }) -
           said.begin();
  };
  EXPECT_LT(at(kLock), at("DECLARE walpost_scan"));
  EXPECT_LT(at("DECLARE walpost_scan"), at(kBegin));
  EXPECT_LT(at(kBegin), at(kCreate));
  EXPECT_LT(at(kCreate), at(kComment));
  EXPECT_THAT(server_.StatementsWith("DECLARE walpost_scan"), SizeIs(2));
  EXPECT_THAT(server_.StatementsWith(kLock),
              ElementsAre(HasSubstr("hashtext('orders')")));
  EXPECT_EQ(Written().consistent_point, Lsn(0x300));
  EXPECT_THAT(server_.StatementsWith(kMakePublication), IsEmpty());
}

TEST_F(SnapshotSessionTest, P1AMissingPublicationIsMadeBeforeTheSlot) {
  SetNothing();
  server_.AnswerInTurn(kRights, {{}, {{"relay", "t"}}});
  Open();
  const absl::Status begun = Begin(SlotHistory::kNone);
  EXPECT_TRUE(begun.ok()) << begun;
  EXPECT_THAT(server_.StatementsWith(kMakePublication),
              ElementsAre(HasSubstr("\"outbox\" FOR TABLE \"app\".\"one\"")));
  EXPECT_THAT(server_.StatementsWith(kCreate),
              ElementsAre(HasSubstr("\"orders\"")));
}

TEST_F(SnapshotSessionTest, P9WithoutTheRightToRecordItNoSlotIsMade) {
  SetNothing();
  server_.Answer(kRights, {{"relay", "f"}});
  Open();
  const absl::Status begun = Begin(SlotHistory::kNone);
  EXPECT_TRUE(absl::IsFailedPrecondition(begun));
  EXPECT_THAT(std::string(begun.message()),
              HasSubstr("role relay cannot put on record that it makes it"));
  EXPECT_THAT(server_.StatementsWith(kCreate), IsEmpty());
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckBefore()));
  config_.postgres.create = false;
  EXPECT_TRUE(CheckBefore().ok()) << "there is no snapshot";
}

TEST_F(SnapshotSessionTest, OfAnUnusedSlotThePresentRowsAreShown) {
  server_.Answer(kSlot, testing::SlotAt("0/150"));
  SetBirth(Birth());
  EXPECT_EQ(Open(), SlotHistory::kUnused);
  EXPECT_THAT(session_->new_tables(), IsEmpty());
  ASSERT_TRUE(Begin(SlotHistory::kUnused).ok());
  EXPECT_FALSE(session_->is_exact());
  EXPECT_EQ(session_->target().begins_at, Lsn(0x150));
  EXPECT_EQ(session_->target().stands_at, Lsn(0x150));
  EXPECT_THAT(server_.StatementsWith(kCreate), IsEmpty());
  EXPECT_THAT(server_.StatementsWith(kComment), IsEmpty());
  EXPECT_THAT(server_.StatementsWith(kBegin), SizeIs(1));
}

TEST_F(SnapshotSessionTest, P9ASlotOfUnknownHistoryIsNotTouched) {
  SetBirth(std::nullopt);
  EXPECT_EQ(Open(), SlotHistory::kUnknown);
  const absl::Status begun = Begin(SlotHistory::kUnknown);
  EXPECT_TRUE(absl::IsFailedPrecondition(begun));
  EXPECT_THAT(std::string(begun.message()),
              HasSubstr("no record of its birth"));
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckBefore()));
}

// Made by this process, which was kept from putting that on record.
TEST_F(SnapshotSessionTest, P1ASlotOfThisProcessIsPutOnRecordLater) {
  SetNothing();
  Open();
  server_.Fail(kComment, "57014", "canceled");
  EXPECT_FALSE(Begin(SlotHistory::kNone).ok());
  server_.Answer(kComment, {});
  server_.Answer(kSlot, testing::SlotAt("0/300"));
  EXPECT_EQ(Open(), SlotHistory::kUnknown);
  ASSERT_TRUE(Begin(SlotHistory::kUnknown).ok());
  EXPECT_EQ(Written().consistent_point, Lsn(0x300));
  EXPECT_FALSE(session_->is_exact());
  server_.Answer(kSlot, testing::SlotAt("0/301"));
  EXPECT_EQ(Open(), SlotHistory::kUnknown);
  EXPECT_TRUE(absl::IsFailedPrecondition(Begin(SlotHistory::kUnknown)))
      << "it has moved";
}

TEST_F(SnapshotSessionTest, TheSecondInstanceIsAStandby) {
  server_.Answer(kSlot, testing::SlotAt("0/150"));
  SetBirth(Birth());
  for (const bool is_locked : {true, false}) {
    server_.Answer(kLock, {{is_locked ? "f" : "t"}});
    server_.Answer(kSlot, testing::SlotAt("0/150", is_locked ? "f" : "t"));
    Open();
    const absl::Status begun = Begin(SlotHistory::kUnused);
    EXPECT_TRUE(absl::IsUnavailable(begun));
    EXPECT_EQ(SqlstateOf(begun), kSqlstateObjectInUse);
  }
}

TEST_F(SnapshotSessionTest, ATableThatCannotBeReadIsNamedBeforeTheSlot) {
  SetNothing();
  server_.Fail("DECLARE walpost_scan", "42501", "permission denied");
  Open();
  const absl::Status begun = Begin(SlotHistory::kNone);
  EXPECT_TRUE(absl::IsFailedPrecondition(begun)) << begun;
  EXPECT_THAT(std::string(begun.message()),
              HasSubstr("snapshot: initial reads table app.one, and cannot: "));
  EXPECT_EQ(server_.StatementsWith("ROLLBACK").size(), 1u);
  EXPECT_THAT(server_.StatementsWith(kCreate), IsEmpty());
  EXPECT_EQ(CheckBefore().message(), begun.message());
}

TEST_F(SnapshotSessionTest, P1RowsOfUnknownOriginAreNotPublished) {
  config_.outbox.origin = OriginFilter::kNone;
  SetNothing();
  server_.Answer(kUnknownOrigin, {{"t"}});
  Open();
  const absl::Status begun = Begin(SlotHistory::kNone);
  EXPECT_TRUE(absl::IsFailedPrecondition(begun)) << begun;
  EXPECT_THAT(std::string(begun.message()),
              HasSubstr("the origin of some is not known"));
  server_.Answer(kUnknownOrigin, {{"f"}});
  EXPECT_TRUE(Begin(SlotHistory::kNone).ok());
}

TEST_F(SnapshotSessionTest, OfAUsedSlotNewTablesArePublished) {
  SetBirth(Birth("16388:690,app.one=1.r1:5,*=passed"));
  EXPECT_EQ(Open(), SlotHistory::kUsed);
  ASSERT_THAT(session_->new_tables(), SizeIs(1));
  EXPECT_EQ(session_->new_tables()[0].name, "app.two");
  ASSERT_TRUE(Begin(SlotHistory::kUsed).ok());
  EXPECT_EQ(session_->target().begins_at, Lsn(0x150));
  EXPECT_EQ(session_->target().stands_at, Lsn(0x200));
  EXPECT_EQ(session_->target().tables, session_->new_tables());
  EXPECT_THAT(server_.StatementsWith("DECLARE walpost_scan"),
              ElementsAre(HasSubstr("\"app\".\"two\"")));
  EXPECT_TRUE(CheckBefore().ok());
}

struct Known {
  std::string coverage;
  bool is_new = false;
};

// Rows before where the stream goes on were passed over, later ones are sent:
// the LSN of the mark counts up to, and without, 0/200.
TEST_F(SnapshotSessionTest, P9ATableWhoseRowsWerePassedOverIsAGap) {
  const std::vector<Known> cases = {
      {"16388:690,app.one=1.r1:5,*=passed", true},
      {"16388:690,app.one=1.r1:5,*=passed.2@0/1FF", false},
      {"16388:690,app.one=1.r1:5,*=passed.2@0/201", true},
      {"16388:690,app.one=1.r1:5,app.two=2.r2:6,*=passed", false},
  };
  for (const Known& known : cases) {
    SetBirth(Birth(known.coverage));
    EXPECT_EQ(Open(), SlotHistory::kUsed);
    EXPECT_EQ(session_->new_tables().size(), known.is_new ? 1u : 0u)
        << known.coverage;
  }
}

TEST_F(SnapshotSessionTest, P9ATableThatDoesNotExistIsNotNew) {
  SetBirth(Birth("16388:690,app.one=1.r1:5,*=passed"));
  server_.Answer(kCoverage, {{"16388:690", "app.one", "1.r1:5"},
                             {"16388:690", "app.two", kNull}});
  Open();
  EXPECT_THAT(session_->new_tables(), IsEmpty());
}

TEST_F(SnapshotSessionTest, P9AGapOnRecordComesFirst) {
  BirthRecord record = Birth("16388:690,app.one=1.r1:5,*=passed");
  record.gap = "slot_lost it is lost";
  SetBirth(record);
  EXPECT_EQ(Open(), SlotHistory::kUsed);
  EXPECT_THAT(session_->new_tables(), IsEmpty());
}

TEST_F(SnapshotSessionTest, P1TheEndIsPutOnRecordForTheSlotThatItIsFor) {
  server_.Answer(kSlot, testing::SlotAt("0/150"));
  SetBirth(Birth());
  Open();
  ASSERT_TRUE(Begin(SlotHistory::kUnused).ok());
  ASSERT_TRUE(Await(context_, session_->End()).ok());
  EXPECT_EQ(server_.StatementsWith("COMMIT").back(), "COMMIT");
  ASSERT_TRUE(Record().ok());
  EXPECT_GT(Written().streamed_from, 0u);
  server_.Answer(kSlot, testing::SlotAt("0/151"));
  EXPECT_TRUE(absl::IsAborted(Record())) << "another one has moved it";
  server_.Answer(kSlot, {});
  EXPECT_TRUE(absl::IsAborted(Record())) << "it was dropped";
  server_.Answer(kSlot, testing::SlotAt("0/150"));
  server_.Answer(kIdentify, {{"78", "3", "0/500", "d"}});
  EXPECT_TRUE(absl::IsAborted(Record())) << "another system";
  server_.Answer(kIdentify, {{"77", "3", "0/500", "d"}});
  BirthRecord other = Birth();
  other.consistent_point = Lsn(0x140);
  SetBirth(other);
  EXPECT_TRUE(absl::IsNotFound(Record()));
  SetBirth(std::nullopt);
  EXPECT_TRUE(absl::IsNotFound(Record()));
  server_.Fail(kSlot, "57014", "canceled");
  EXPECT_TRUE(absl::IsUnavailable(Record()));
}

TEST_F(SnapshotSessionTest, P1NewTablesAreTakenUpInTheRecord) {
  SetBirth(Birth("16388:690,app.one=1.r1:5,*=passed"));
  Open();
  ASSERT_TRUE(Begin(SlotHistory::kUsed).ok());
  ASSERT_TRUE(Record().ok());
  const BirthRecord written = Written();
  ASSERT_TRUE(written.added.has_value());
  ASSERT_THAT(*written.added, SizeIs(1));
  EXPECT_EQ(written.added->front().name, "app.two");
  BirthRecord older = Birth("16388:690,app.one=1.r1:5,*=passed");
  older.added.reset();
  SetBirth(older);
  ASSERT_TRUE(Record().ok());
  EXPECT_EQ(Written().added, std::nullopt);
}

TEST_F(SnapshotSessionTest, ALostConnectionIsNoticed) {
  EXPECT_TRUE(session_->is_lost());
  server_.Answer(kSlot, testing::SlotAt("0/150"));
  SetBirth(Birth());
  Open();
  EXPECT_FALSE(session_->is_lost());
  session_->Close();
  EXPECT_TRUE(session_->is_lost());
  session_->Interrupt();
  const auto opened = Await(context_, session_->Open());
  EXPECT_TRUE(absl::IsCancelled(opened.status()));
}

// The statements that end the limits of the role, and the last one of a lock
// that the server gives up by itself, are no part of the answer.
TEST_F(SnapshotSessionTest, P1EachErrorOfAStatementBeginsNoSnapshot) {
  const auto begin = [this]() -> absl::Status {
    SetNothing();
    session_.emplace(context_.get_executor(), config_);
    const auto history = Await(context_, session_->Open());
    return history.ok() ? Begin(*history) : history.status();
  };
  EXPECT_THAT(testing::UnreportedFailures(server_, begin), IsEmpty());
}

TEST_F(SnapshotSessionTest, P1EachErrorOfAStatementEndsNoSnapshot) {
  server_.Answer(kSlot, testing::SlotAt("0/150"));
  SetBirth(Birth());
  Open();
  ASSERT_TRUE(Begin(SlotHistory::kUnused).ok());
  const auto end = [this]() -> absl::Status {
    const absl::Status ended = Await(context_, session_->End());
    return ended.ok() ? Record() : ended;
  };
  EXPECT_THAT(testing::UnreportedFailures(server_, end), IsEmpty());
}

}  // namespace
}  // namespace walpost
