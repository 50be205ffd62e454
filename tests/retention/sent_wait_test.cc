// walpost wait: what counts as sent, and what is said of the rest.
#include "retention/sent_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "base/reason_code.h"
#include "checkpoint/birth_record.h"
#include "delivery/gap.h"
#include "support/fake_postgres.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Await;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Rows = FakePostgres::Rows;
using Clock = std::chrono::steady_clock;

// Parts of the statements.
constexpr char kSlot[] = "pg_replication_slots slot";
constexpr char kComment[] = "obj_description";
constexpr char kMark[] = "pg_snapshot_xmin(pg_current_snapshot())";
constexpr char kFind[] = "SELECT tableoid, tableoid::regclass";
constexpr char kLook[] = "NULL::text FROM";
constexpr char kLookAtError[] = "o.\"error\"::text FROM";
constexpr char kCoverage[] = "LEFT JOIN tables wanted";
const std::optional<std::string> kNull;

class SentWaitTest : public ::testing::Test {
 protected:
  SentWaitTest() {
    options_.postgres.server = server_.options();
    options_.postgres.slot = "orders";
    options_.postgres.publication = "outbox";
    options_.tables.resize(1);
    options_.tables[0].name = "public.outbox";
    server_.Answer("c.relkind = 'p'",
                   {{"f", "outbox", kNull, "created_at", kNull}});
    server_.Answer("= 'DEFAULT'",
                   {{"outbox", kNull, kNull, "t", "163840", "f", "t"}});
    server_.Answer(kSlot, Slot("0/400"));
    server_.Answer(kComment, {{Comment()}});
    server_.Answer("pg_control_system", {{"77", "1", "0/500"}});
    server_.Answer(kCoverage,
                   {{"16388:690", "public.outbox", "16385.r16394:691"}});
    server_.Answer("age(s.catalog_xmin)", {{"f", "f"}});
    server_.Answer(kMark, {{"745", "0/300"}});
    server_.Answer("pg_logical_emit_message", {{"0/308"}});
    server_.Answer("format_type(a.atttypid",
                   {{"0", "id", "2950", "uuid", "", kNull},
                    {"0", "aggregate_type", "25", "text", "", kNull},
                    {"0", "aggregate_id", "25", "text", "", kNull},
                    {"0", "payload", "25", "text", "", kNull}});
    server_.Answer("SELECT now()", {{"2026-01-31 00:00:00+00"}});
    SetRow("t");
  }

  static Rows Slot(const std::string& confirmed,
                   const std::string& status = "reserved") {
    return {{"pgoutput", status, "t", "0/100", confirmed, "f", "f", "d", "d",
             "logical", kNull}};
  }
  static std::string Comment(const std::string& gap = "",
                             uint64_t streamed_from = 700) {
    BirthRecord record;
    record.slot = "orders";
    record.consistent_point = Lsn(0x100);
    record.system_identifier = "77";
    record.streamed_from = streamed_from;
    record.born_at = WallTime(seconds(1'700'000'000));
    record.coverage = "16388:690,public.outbox=16385.r16394:691";
    record.gap = gap;
    return WithBirthRecord("", record);
  }
  // The row of the event: sent, given up, why.
  void SetRow(const std::string& sent, const std::string& failed = "f",
              const std::optional<std::string>& error = std::nullopt) {
    server_.Answer(kLook, {{sent, failed, error}});
    server_.Answer(kLookAtError, {{sent, failed, error}});
    server_.Answer(kFind, {{"16385", "public.outbox", "f", "ID-1"}});
  }
  void SetNoRow() { server_.Answer(kFind, {}); }

  absl::Status ForLsn(Lsn lsn, milliseconds limit = milliseconds(0)) {
    SentWait wait(context_.get_executor(), options_);
    return Await(context_, wait.ForLsn(lsn, Clock::now() + limit));
  }
  absl::StatusOr<SentWait::Sent> ForEvent(
      const std::string& table = "", milliseconds limit = milliseconds(0)) {
    SentWait wait(context_.get_executor(), options_);
    return Await(context_, wait.ForEvent("id-1", table, Clock::now() + limit));
  }
  static std::string TextOf(const absl::Status& status) {
    return std::string(status.message());
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  Pruner::Options options_;
};

// The end of the WAL is what an application asks for after its commit.
TEST_F(SentWaitTest, AnLsnIsSentOnceTheSlotHasConfirmedIt) {
  EXPECT_TRUE(ForLsn(Lsn(0x300)).ok());
  EXPECT_TRUE(ForLsn(Lsn(0x280)).ok());
  server_.Answer(kSlot, Slot("0/2FF"));
  const absl::Status status = ForLsn(Lsn(0x300));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(TextOf(status), HasSubstr("has confirmed 0/2FF"));
  server_.AnswerInTurn(kSlot, {Slot("0/200"), Slot("0/2FF"), Slot("0/300")});
  EXPECT_TRUE(ForLsn(Lsn(0x300), seconds(10)).ok());
}

TEST_F(SentWaitTest, AnLsnThatIsNotOfThisSlotIsAMistake) {
  const absl::Status before = ForLsn(Lsn(0xFF));
  EXPECT_TRUE(absl::IsInvalidArgument(before)) << before;
  EXPECT_THAT(TextOf(before), HasSubstr("which begins at 0/100"));
  EXPECT_TRUE(ForLsn(Lsn(0x100)).ok());
  const absl::Status ahead = ForLsn(Lsn(0x301));
  EXPECT_TRUE(absl::IsInvalidArgument(ahead)) << ahead;
  EXPECT_THAT(TextOf(ahead), HasSubstr("whose WAL ends at 0/300"));
}

TEST_F(SentWaitTest, P9AGapProvesNothing) {
  server_.Answer(kComment, {{Comment(kGapSlotAdvanced)}});
  for (const absl::Status& status : {ForLsn(Lsn(0x280)), ForEvent().status()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_EQ(ReasonCodeOf(status), kGapSlotAdvanced);
    EXPECT_THAT(TextOf(status), HasSubstr("recover -c FILE --dry-run"));
  }
}

// 'x' is not a bigint: the table cannot have the event.
TEST_F(SentWaitTest, ATextThatIsNoIdOfTheTableIsNotThere) {
  for (const char* code : {"22P02", "22003"}) {
    server_.Fail(kFind, code, "invalid input syntax");
    EXPECT_TRUE(absl::IsNotFound(ForEvent().status())) << code;
  }
  server_.Fail(kFind, "42501", "permission denied");
  const absl::Status denied = ForEvent().status();
  EXPECT_THAT(TextOf(denied), HasSubstr("GRANT SELECT"));
}

TEST_F(SentWaitTest, APollerSaysItOfTheRow) {
  options_.proof = SentProof::kState;
  options_.tables[0].state.status = "status";
  options_.tables[0].state.published = "sent";
  options_.tables[0].state.failed = "failed";
  options_.tables[0].state.last_error = "error";
  EXPECT_TRUE(ForEvent().ok());
  EXPECT_THAT(server_.StatementsWith(kLookAtError).back(),
              HasSubstr("SELECT (\"status\" = 'sent'), (o.\"status\" = "
                        "'failed'), o.\"error\"::text"));
  SetRow("f", "t", "too large");
  const absl::Status failed = ForEvent().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(failed)) << failed;
  EXPECT_THAT(TextOf(failed), HasSubstr("is marked as failed: too large"));
  SetRow("f");
  const absl::Status pending = ForEvent().status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(pending)) << pending;
  EXPECT_THAT(server_.StatementsWith(kSlot), IsEmpty());
}

}  // namespace
}  // namespace walpost
