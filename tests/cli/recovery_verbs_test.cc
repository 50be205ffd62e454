// recover and replay: what is published again, what is given up, and what is
// put on record afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "checkpoint/birth_record.h"
#include "cli/verb_fixture.h"
#include "support/parking_answers.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Outcome;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

using namespace testing::wal_source;  // the words of the statements

const std::optional<std::string> kNull;

class RecoveryVerbsTest : public testing::VerbFixture {
 protected:
  RecoveryVerbsTest() {
    testing::AnswerEmptyParking(server_);
    testing::AnswerWalSource(server_);
    AnswerGapDiagnosis();
    server_.Answer(testing::parking::kDescribe,
                   testing::ParkingTableIsMissing());
    server_.Answer(kCoverage, {{"16388:690", "public.outbox", "1.r1:5"}});
    server_.Answer("format_type(a.atttypid",
                   {{"0", "id", "20", "bigint", "", kNull},
                    {"0", "aggregate_type", "25", "text", "", kNull},
                    {"0", "aggregate_id", "25", "text", "", kNull},
                    {"0", "payload", "25", "text", "", kNull}});
    server_.Answer("a.attidentity", {{"id", "20", "t"}});
    server_.Answer("SELECT pg_catalog.pg_current_wal_insert_lsn()",
                   {{"0/700"}});
    server_.Answer("SELECT count(*) FROM", {{"2"}});
    server_.Answer("greatest(0, pg_catalog.pg_wal_lsn_diff",
                   {{"0/700", "1280"}});
    server_.Answer("pg_copy_logical_replication_slot", {{"x", "0/300"}});
    server_.Answer("pg_drop_replication_slot", {{""}});
    AnswerRows();
    // Of verify's reader.
    server_.Answer("pg_catalog.set_config", {{"x"}});
    server_.Answer("SELECT a.attname::text",
                   {{"id", "20", "false", "true"},
                    {"aggregate_type", "25", "false", "true"},
                    {"aggregate_id", "25", "false", "true"},
                    {"payload", "25", "false", "true"}});
    server_.Answer("SELECT DISTINCT true::text", {{"true", "order"}});
    Set("route.topic", "'t.{aggregate_type}'");
    kafka_.CreateTopic("t.order", 1);
  }

  void AnswerRows() {
    server_.AnswerInTurn(
        "FETCH",
        {{{"1", "order", "k1", "v1"}, {"2", "order", "k2", "v2"}}, {}});
  }
  BirthRecord Written() {
    const auto written = server_.StatementsWith(kComment);
    if (written.empty()) return {};
    return FindBirthRecord(testing::CommentOf(written.back()), "orders")
        .value_or(BirthRecord());
  }
};

TEST_F(RecoveryVerbsTest, ReplaysTheRowsOfTheTable) {
  kafka_.CreateTopic("x.t.order", 1);
  const Outcome ended = Run("replay --from-table --topic-prefix x.");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out, "2 rows replayed\n");
  EXPECT_THAT(kafka_.Log("x.t.order"),
              ElementsAre(Pair("k1", "v1"), Pair("k2", "v2")));
}

TEST_F(RecoveryVerbsTest, ADryRunSendsNothing) {
  const Outcome ended = Run("replay --from-table --dry-run");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out, R"(1  to be published
2  to be published
2 rows would be replayed
)");
  EXPECT_THAT(kafka_.Log("t.order"), IsEmpty());
}

TEST_F(RecoveryVerbsTest, EachFilterIsACondition) {
  const std::string ids = file() + ".ids";
  std::ofstream(ids) << "1\n\n2\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--aggregate k1", "'k1'"},
      {"--where a=1", "(a=1)"},
      {"--ids " + ids, "'1', '2'"},
  };
  for (const auto& [option, words] : cases) {
    AnswerRows();
    const Outcome ended = Run("replay --from-table --dry-run " + option);
    EXPECT_EQ(ended.exit_code, kExitOk) << option << ended.err;
    EXPECT_THAT(server_.StatementsWith("DECLARE walpost_scan").back(),
                HasSubstr(words))
        << option;
  }
  std::filesystem::remove(ids);
}

TEST_F(RecoveryVerbsTest, RecoverIsForAGap) {
  Outcome ended = Run("recover");
  EXPECT_EQ(ended.exit_code, kExitPostgres);
  EXPECT_EQ(ended.out, R"(gap: none is diagnosed
range: all rows: no table has outbox.tables.state.transaction_id
slot orders stands at 0/200, 1280 bytes before the end of the WAL (0/700)
given up: 1280 bytes of WAL in the slot: rows in it that were deleted since
)");
  EXPECT_THAT(ended.err, HasSubstr("slot orders is in order"));
  ended = Run("recover --accept");
  EXPECT_EQ(ended.exit_code, kExitPostgres);
  EXPECT_THAT(ended.err, HasSubstr("so there is none to accept"));
  EXPECT_THAT(ended.out, IsEmpty());
  server_.Answer(kComments, {{""}});
  ended = Run("recover");
  EXPECT_EQ(ended.exit_code, kExitPostgres);
  EXPECT_THAT(ended.err, HasSubstr("nothing is on record of slot orders"));
  server_.Answer(kSlot, testing::SlotAt("0/200", "t"));
  ended = Run("recover");
  EXPECT_EQ(ended.exit_code, kExitPostgres);
  EXPECT_THAT(ended.err, HasSubstr("slot orders is in use"));
  EXPECT_THAT(kafka_.Log("t.order"), IsEmpty());
}

TEST_F(RecoveryVerbsTest, P9AfterAGapWhatKafkaLacksIsPublished) {
  server_.Answer(kSlot, {});
  kafka_.Write("t.order", "k1", "v1", {{"id", "1"}});
  Outcome ended = Run("recover --dry-run");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(
      ended.out,
      R"(gap: slot_missing: slot orders is missing: events committed since walpost last ran may not have been published; stop walpost, run walpost recover -c FILE --dry-run to see what is missing, then walpost recover -c FILE to publish it and make a new slot (or walpost init -c FILE --fresh to begin a new one without it; with a checkpoint store, remove the checkpoint of the old one as well)
range: all rows: no table has outbox.tables.state.transaction_id
slot orders does not exist
would be given up: rows that were deleted since
2  to be published
2 rows looked at, 1 are not published; nothing was done
not recoverable: rows that were deleted since
)");
  EXPECT_THAT(kafka_.Log("t.order"), SizeIs(1));
  EXPECT_THAT(server_.StatementsWith(kComment), IsEmpty());
  AnswerRows();
  ended = Run("recover");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(
      ended.out,
      R"(gap: slot_missing: slot orders is missing: events committed since walpost last ran may not have been published; stop walpost, run walpost recover -c FILE --dry-run to see what is missing, then walpost recover -c FILE to publish it and make a new slot (or walpost init -c FILE --fresh to begin a new one without it; with a checkpoint store, remove the checkpoint of the old one as well)
range: all rows: no table has outbox.tables.state.transaction_id
slot orders does not exist
given up: rows that were deleted since
2 rows looked at, 1 published with header walpost-recovered; slot orders is new: start walpost
not recoverable: rows that were deleted since
)");
  EXPECT_THAT(kafka_.Log("t.order"),
              ElementsAre(Pair("k1", "v1"), Pair("k2", "v2")));
  EXPECT_EQ(Written().consistent_point, Lsn(0x300));
  EXPECT_GT(Written().streamed_from, 0u);
}

TEST_F(RecoveryVerbsTest, P9AGapCanBeAccepted) {
  server_.Answer(kIdentify, {{"78", "3", "0/500", "d"}});
  server_.Answer(kBirth, {{"78", "745", "1700000000", "3"}});
  server_.Answer(kSystem, {{"78"}});
  server_.Answer("SELECT system_identifier, CASE WHEN", {{"78", "3", "0/500"}});
  Outcome ended = Run("recover --accept --dry-run");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_THAT(ended.out, StartsWith("gap: other_cluster: "));
  EXPECT_THAT(server_.StatementsWith(kComment), IsEmpty());
  ended = Run("recover --accept");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("accepted: walpost continues where slot "
                                   "orders stands; nothing was published."));
  EXPECT_EQ(Written().system_identifier, "78");
  EXPECT_EQ(Written().consistent_point, Lsn(0x200));
  server_.Fail(kComment, "42501", "must be owner");
  ended = Run("recover --accept");
  EXPECT_EQ(ended.exit_code, kExitPostgres);
  EXPECT_THAT(ended.err, HasSubstr("the gap of slot orders stays on record"));
}

}  // namespace
}  // namespace walpost
