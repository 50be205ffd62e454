// walpost verify, whole: rows of the server and records of the brokers, and
// what is said of those that do not fit together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cli/verb_fixture.h"
#include "outbox/event_digest.h"
#include "parking/parked_codec.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Outcome;
using ::testing::SizeIs;

using namespace testing::wal_source;  // the words of the statements

constexpr char kColumns[] = "SELECT a.attname::text";
constexpr char kFetch[] = "FETCH";
constexpr char kDeclare[] = "DECLARE expected";
constexpr char kSkipped[] = "SELECT obj_description(oid, 'pg_publication')";
constexpr char kConfirmed[] = "SELECT (confirmed_flush_lsn >=";
constexpr char kParkedTable[] = "to_regclass";
constexpr char kParked[] = "SELECT state, aggregate_id, event";
constexpr char kLookup[] = "= ANY ($1::";
constexpr char kUpdates[] = "pg_stat_get_tuples_updated";
constexpr char kPending[] = "get_byte(data, 0) = ascii('I')";
const std::optional<std::string> kNull;

struct SentRow {
  std::string id;
  std::string value = "v";
  bool must_be_there = true;
  bool came_through = true;
  std::optional<std::string> other_origin = "false";
};

class VerifyVerbTest : public testing::VerbFixture {
 protected:
  VerifyVerbTest() {
    testing::AnswerWalSource(server_);
    AnswerGapDiagnosis();
    server_.Answer("pg_catalog.set_config", {{"x"}});
    server_.Answer(kColumns,
                   {{"id", "25", "false", "true", "false"},
                    {"aggregate_type", "25", "false", "true", "false"},
                    {"aggregate_id", "25", "false", "true", "false"},
                    {"payload", "25", "false", "true", "false"},
                    {"seq", "20", "true", "true", "false"}});
    server_.Answer(kUpdates, {{"0"}});
    server_.Answer("SELECT pg_current_wal_insert_lsn()::text", {{"0/500"}});
    server_.Answer(kConfirmed, {{"true"}});
    server_.Answer(kParkedTable, {{"false"}});
    server_.Answer(kSkipped, {{testing::BirthOfOrders()}});
    server_.Answer(kLookup, {});
    server_.Answer("COPY", {});
    Set("route.topic", "'t.{aggregate_type}'");
    kafka_.CreateTopic("t.order", 1);
  }

  void SetRows(const std::vector<SentRow>& rows) {
    FakePostgres::Rows answer;
    for (const SentRow& row : rows) {
      answer.push_back(
          {row.id, "k", row.value, kNull, row.must_be_there ? "true" : "false",
           std::to_string(answer.size() + 1), "1600000000000000",
           row.came_through ? "true" : "false", row.other_origin, "order"});
    }
    server_.AnswerInTurn(kFetch, {answer, {}});
  }
  void Write(const std::string& id, const std::string& value = "v",
             const char* topic = "t.order", const std::string& key = "k") {
    kafka_.Write(topic, key, value, {{"id", id}});
  }
  static std::string Parked(const std::string& id) {
    DeadLetter letter;
    letter.id = id;
    letter.aggregate_id = "k";
    return EncodeParked(letter);
  }
  static std::string SkipLine(const std::string& slot, const std::string& id) {
    Event event;
    event.id = id;
    return fmt::format(
        "walpost: slot {} skip 0/400/1 of system 77 event={} by=bob why=x",
        slot, EventDigest("public.outbox", event));
  }
};

TEST_F(VerifyVerbTest, RowsWithTheirRecordsAreClean) {
  SetRows({{"a"}, {"b"}});
  Write("a");
  Write("b");
  const Outcome ended = Run("verify");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out, R"(           2 committed events
           2 records
           0 missing: committed, but not in Kafka
           0 unconfirmed: pending: not in Kafka, and not confirmed yet
           0 parked: waits for an operator, or behind an event that does
           0 dead_letter: has a dead letter, and is not in its topic
           0 discarded: not in its topic, because somebody has discarded it
           0 skipped: not in its topic, because somebody has skipped it
           0 altered: another value than the row's
           0 wrong_topic: on another topic
           0 wrong_key: with another key
           0 split_key: keys in several partitions of one topic
           0 without_id: without the header id
           0 undecided: could not be decided, or was not compared
order not checked: no header walpost-position, no --sequence
clean
)");
  EXPECT_THAT(server_.StatementsWith(kParked), IsEmpty())
      << "there is no such table";
}

TEST_F(VerifyVerbTest, WhatIsMissingHasACommand) {
  SetRows({{"a"}, {"b"}});
  Write("a");
  const Outcome ended = Run("verify");
  EXPECT_EQ(ended.exit_code, kExitFindings) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("--from-table --missing"));
  Write("b");
  SetRows({{"a"}, {"b"}});
  EXPECT_THAT(Run("verify").err, Not(HasSubstr("--missing")));
}

TEST_F(VerifyVerbTest, P11EachKindIsFoundAndToldApart) {
  server_.Answer(kParkedTable, {{"true"}});
  server_.Answer(kParked, {{"dead", "k", Parked("parked")},
                           {"dead_letter", "k", Parked("letter")},
                           {"discarded", "k", Parked("discarded")},
                           {"dead_letter_discarded", "k", Parked("letter2")}});
  server_.Answer(kSkipped, {{testing::BirthOfOrders() + "\n" +
                             SkipLine("orders", "skipped") + "\n" +
                             SkipLine("other", "lost")}});
  server_.Answer(kLookup, {{"newer", "order"}});
  SetRows({{"sent"},
           {"lost"},
           {"parked"},
           {"letter"},
           {"discarded"},
           {"letter2"},
           {"skipped"},
           {"changed", "new"}});
  for (const char* id : {"sent", "newer", "gone", "gone"}) Write(id);
  Write("changed", "old");
  Outcome ended = Run("verify");
  EXPECT_EQ(ended.exit_code, kExitFindings) << ended.err;
  EXPECT_EQ(ended.out, R"(           8 committed events
           5 records
           2 missing: committed, but not in Kafka
                id changed, topic t.order
                id lost, topic t.order
           0 unconfirmed: pending: not in Kafka, and not confirmed yet
           1 parked: waits for an operator, or behind an event that does
                id parked, topic t.order
           1 dead_letter: has a dead letter, and is not in its topic
                id letter, topic t.order
           2 discarded: not in its topic, because somebody has discarded it
                id discarded, topic t.order
                id letter2, topic t.order
           1 skipped: not in its topic, because somebody has skipped it
                id skipped, topic t.order
           1 not_in_table: in Kafka, but not in the table (pruned, or deleted)
                t.order[0]@2 id gone
           1 newer: committed while we read
                id newer
           0 altered: another value than the row's
           0 wrong_topic: on another topic
           0 wrong_key: with another key
           0 split_key: keys in several partitions of one topic
           1 duplicates: repeat an earlier record
                t.order[0]@3 id gone
           0 without_id: without the header id
           1 undecided: could not be decided, or was not compared
                t.order[0]@4 id changed: another event of this id, or the row's and altered
order not checked: no header walpost-position, no --sequence
cleanup.policy of topic t.order cannot be seen (right DESCRIBE_CONFIGS): events that compaction has removed count as missing
NOT clean
)");
  SetRows({{"sent"}});
  ended = Run("verify --json");
  EXPECT_EQ(ended.out, R"({
    "clean": true,
    "expected": 1,
    "records": 5,
    "order_judged_by": "not checked",
    "notes": [],
    "caught_up": true,
    "findings": {
        "missing": {
            "count": 0,
            "error": true,
            "examples": []
        },
        "unconfirmed": {
            "count": 0,
            "error": true,
            "examples": []
        },
        "expired": {
            "count": 0,
            "error": false,
            "examples": []
        },
        "other_origin": {
            "count": 0,
            "error": false,
            "examples": []
        },
        "parked": {
            "count": 0,
            "error": true,
            "examples": []
        },
        "dead_letter": {
            "count": 0,
            "error": true,
            "examples": []
        },
        "discarded": {
            "count": 0,
            "error": true,
            "examples": []
        },
        "skipped": {
            "count": 0,
            "error": true,
            "examples": []
        },
        "not_in_table": {
            "count": 2,
            "error": false,
            "examples": [
                "t.order[0]@4 id changed",
                "t.order[0]@2 id gone"
            ]
        },
        "newer": {
            "count": 1,
            "error": false,
            "examples": [
                "id newer"
            ]
        },
        "altered": {
            "count": 0,
            "error": true,
            "examples": []
        },
        "wrong_topic": {
            "count": 0,
            "error": true,
            "examples": []
        },
        "wrong_key": {
            "count": 0,
            "error": true,
            "examples": []
        },
        "disorder": {
            "count": 0,
            "error": false,
            "examples": []
        },
        "split_key": {
            "count": 0,
            "error": true,
            "examples": []
        },
        "moved_key": {
            "count": 0,
            "error": false,
            "examples": []
        },
        "duplicates": {
            "count": 1,
            "error": false,
            "examples": [
                "t.order[0]@3 id gone"
            ]
        },
        "replayed": {
            "count": 0,
            "error": false,
            "examples": []
        },
        "without_id": {
            "count": 0,
            "error": true,
            "examples": []
        },
        "undecided": {
            "count": 0,
            "error": true,
            "examples": []
        }
    }
}
)");
  EXPECT_THAT(server_.StatementsWith(kParked).back(),
              HasSubstr("FROM \"public\".\"walpost_parked\" WHERE slot = "
                        "'orders'"));
}

TEST_F(VerifyVerbTest, FlagsMakeErrorsOfMore) {
  SetRows({{"a"}});
  Write("a");
  Write("gone");
  EXPECT_EQ(Run("verify").exit_code, kExitOk);
  SetRows({{"a"}});
  EXPECT_EQ(Run("verify --fail-on-unknown").exit_code, kExitFindings);
  Write("a");
  SetRows({{"a"}});
  EXPECT_EQ(Run("verify").exit_code, kExitOk);
  SetRows({{"a"}});
  EXPECT_EQ(Run("verify --fail-on-duplicates").exit_code, kExitFindings);
  kafka_.Write("t.order", "k", "v");
  SetRows({{"a"}});
  EXPECT_EQ(Run("verify").exit_code, kExitFindings) << "it has no id";
  Set("outbox.messages", "{prefix: outbox}");
  SetRows({{"a"}});
  EXPECT_EQ(Run("verify").exit_code, kExitOk) << "a message may have none";
  SetRows({{"a"}});
  EXPECT_EQ(Run("verify --read-uncommitted").exit_code, kExitFindings);
}

TEST_F(VerifyVerbTest, TheSameJsonInOtherBytesIsEqualOnDemand) {
  SetRows({{"a", R"({"n": 1.0, "m": 2})"}});
  Write("a", R"({"m":2,"n":1})");
  EXPECT_EQ(Run("verify").exit_code, kExitFindings);
  SetRows({{"a", R"({"n": 1.0, "m": 2})"}});
  const Outcome ended = Run("verify --json-equal");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.out << ended.err;
  SetRows({{"a", R"({"n": 1.0, "m": 3})"}});
  EXPECT_EQ(Run("verify --json-equal").exit_code, kExitFindings);
}

TEST_F(VerifyVerbTest, AClaimCheckHasNoJsonToCompare) {
  SetTables("    - name: public.outbox\n      claim_check_above: 2000000\n");
  const Outcome ended = Run("verify --json-equal");
  EXPECT_EQ(ended.exit_code, kExitUsage);
  EXPECT_THAT(ended.err, HasSubstr("--json-equal: table public.outbox has "
                                   "claim checks"));
}

// Not byte for byte: its keys decide about nothing.
TEST_F(VerifyVerbTest, ConvertedRecordsAreComparedAsJsonOnDemand) {
  Set("records", "{profile: debezium, logical_name: shop}");
  const char* const order =
      R"({"schema":{"type":"string","optional":true},"payload":"{\"n\": 1}"})";
  const char* const key =
      R"({"schema":{"type":"string","optional":true},"payload":"k"})";
  for (const auto& [row, code] : {std::pair(R"({"n":1})", kExitOk),
                                  std::pair(R"({"n":2})", kExitFindings)}) {
    SetRows({{"a", row}});
    if (code == kExitOk) Write("a", order, "t.order", key);
    const Outcome ended = Run("verify");
    EXPECT_EQ(ended.exit_code, kExitOk) << ended.out << ended.err;
    EXPECT_THAT(ended.out,
                HasSubstr("keys and values of public.outbox are made as "
                          "Debezium makes them (records.profile) and were not "
                          "compared: --json-equal compares those of texts"));
    SetRows({{"a", row}});
    EXPECT_EQ(Run("verify --json-equal").exit_code, code);
  }
  const std::string uuid = "a0000000-0000-4000-8000-000000000000";
  SetRows({{uuid, R"({"n":1})"}});
  Write(uuid, order, "t.order", R"({"schema":{},"payload":"l"})");
  EXPECT_EQ(Run("verify").exit_code, kExitOk);
  SetRows({{uuid, R"({"n":1})"}});
  EXPECT_THAT(Run("verify --json-equal").out, HasSubstr("1 wrong_key"));
}

TEST_F(VerifyVerbTest, P11WhatTheSlotHasNotConfirmedIsNotMissing) {
  server_.Answer(kConfirmed, {{"false"}});
  SetRows({{"a"}, {"b", "v", false}});
  Write("a");
  Outcome ended = Run("verify --wait 0");
  EXPECT_EQ(ended.exit_code, kExitFindings) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("0 missing: "));
  EXPECT_THAT(ended.out, HasSubstr("1 unconfirmed: "));
  EXPECT_THAT(ended.out, HasSubstr("the slot has not confirmed all of it"));
  EXPECT_THAT(server_.StatementsWith(kConfirmed).back(),
              HasSubstr("'0/500'::pg_lsn"));
  SetRows({{"a"}, {"b", "v", true}});
  EXPECT_EQ(Run("verify --wait 0").exit_code, kExitFindings);
  server_.Answer(kConfirmed, {});
  SetRows({{"a"}, {"b", "v", false}});
  ended = Run("verify --wait 0");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_THAT(ended.out, HasSubstr("1 missing: "));
  EXPECT_THAT(ended.out, HasSubstr("the slot does not exist"));
  server_.AnswerInTurn(kConfirmed, {{{"false"}}, {{"true"}}});
  SetRows({{"a"}, {"b", "v", false}});
  EXPECT_THAT(Run("verify --wait 9").out, HasSubstr("1 missing: "));
}

TEST_F(VerifyVerbTest, P11AnEmptyTableProvesLittle) {
  SetRows({});
  Write("a");
  Outcome ended = Run("verify");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out, R"(           0 committed events
           1 records
           0 missing: committed, but not in Kafka
           0 unconfirmed: pending: not in Kafka, and not confirmed yet
           0 parked: waits for an operator, or behind an event that does
           0 dead_letter: has a dead letter, and is not in its topic
           0 discarded: not in its topic, because somebody has discarded it
           0 skipped: not in its topic, because somebody has skipped it
           1 not_in_table: in Kafka, but not in the table (pruned, or deleted)
                t.order[0]@0 id a
           0 altered: another value than the row's
           0 wrong_topic: on another topic
           0 wrong_key: with another key
           0 split_key: keys in several partitions of one topic
           0 without_id: without the header id
           0 undecided: could not be decided, or was not compared
order not checked: no header walpost-position, no --sequence
table public.outbox has no row: records of rows that were deleted were not compared (--ids FILE compares with a list)
clean
)");
  server_.Answer(kConfirmed, {{"false"}});
  server_.Answer(kPending, {{"3"}});
  SetRows({});
  ended = Run("verify --wait 0");
  EXPECT_EQ(ended.exit_code, kExitFindings) << ended.err;
  EXPECT_EQ(ended.out, R"(           0 committed events
           1 records
           0 missing: committed, but not in Kafka
           0 unconfirmed: pending: not in Kafka, and not confirmed yet
           0 parked: waits for an operator, or behind an event that does
           0 dead_letter: has a dead letter, and is not in its topic
           0 discarded: not in its topic, because somebody has discarded it
           0 skipped: not in its topic, because somebody has skipped it
           1 not_in_table: in Kafka, but not in the table (pruned, or deleted)
                t.order[0]@0 id a
           0 altered: another value than the row's
           0 wrong_topic: on another topic
           0 wrong_key: with another key
           0 split_key: keys in several partitions of one topic
           0 without_id: without the header id
           1 undecided: could not be decided, or was not compared
                table public.outbox has no row, and 3 events are pending in the slot: start walpost, and verify again when it has caught up
order not checked: no header walpost-position, no --sequence
the slot has not confirmed all of it: is walpost running? Rows that may be on their way are reported as unconfirmed, not as missing
NOT clean
)");
  server_.Fail(kPending, "55006", "slot is active");
  SetRows({});
  EXPECT_EQ(Run("verify --wait 0").out, R"(           0 committed events
           1 records
           0 missing: committed, but not in Kafka
           0 unconfirmed: pending: not in Kafka, and not confirmed yet
           0 parked: waits for an operator, or behind an event that does
           0 dead_letter: has a dead letter, and is not in its topic
           0 discarded: not in its topic, because somebody has discarded it
           0 skipped: not in its topic, because somebody has skipped it
           1 not_in_table: in Kafka, but not in the table (pruned, or deleted)
                t.order[0]@0 id a
           0 altered: another value than the row's
           0 wrong_topic: on another topic
           0 wrong_key: with another key
           0 split_key: keys in several partitions of one topic
           0 without_id: without the header id
           1 undecided: could not be decided, or was not compared
                table public.outbox has no row, and events of deleted rows may be pending in the slot: start walpost, and verify again when it has caught up
order not checked: no header walpost-position, no --sequence
the slot has not confirmed all of it: is walpost running? Rows that may be on their way are reported as unconfirmed, not as missing
NOT clean
)");
}

// A topic that is all of a column has no prefix.
TEST_F(VerifyVerbTest, TopicsOfOthersAreNotRead) {
  Set("route.topic", "'{aggregate_type}'");
  kafka_.CreateTopic("order", 1);
  kafka_.CreateTopic("foreign", 1);
  SetRows({{"a"}});
  Write("a", "v", "order");
  Write("b", "v", "foreign");
  EXPECT_THAT(Run("verify").out, HasSubstr(" 1 records\n"));
}

// Brokers that know no topic of that prefix hide none.
TEST_F(VerifyVerbTest, P11WithoutATopicNothingIsHidden) {
  Set("route.topic", "'u.{aggregate_type}'");
  SetRows({});
  EXPECT_THAT(Run("verify").out, Not(HasSubstr("no topic was read")));
}

TEST_F(VerifyVerbTest, IdsOfAFileAreExpectedInPlaceOfRows) {
  const std::string path = file() + ".ids";
  std::ofstream(path) << "a\n\nb\n";
  Write("a");
  Write("c");
  Outcome ended = Run("verify --ids " + path);
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_EQ(ended.out, R"(           2 committed events
           2 records
           1 missing: committed, but not in Kafka
                id b
           0 unconfirmed: pending: not in Kafka, and not confirmed yet
           0 parked: waits for an operator, or behind an event that does
           0 dead_letter: has a dead letter, and is not in its topic
           0 discarded: not in its topic, because somebody has discarded it
           0 skipped: not in its topic, because somebody has skipped it
           1 not_in_table: in Kafka, but not in the table (pruned, or deleted)
                t.order[0]@1 id c
           0 altered: another value than the row's
           0 wrong_topic: on another topic
           0 wrong_key: with another key
           0 split_key: keys in several partitions of one topic
           0 without_id: without the header id
           0 undecided: could not be decided, or was not compared
order not checked: no header walpost-position, no --sequence
cleanup.policy of topic t.order cannot be seen (right DESCRIBE_CONFIGS): events that compaction has removed count as missing
NOT clean
)");
  EXPECT_THAT(server_.StatementsWith(kDeclare), IsEmpty());
  ended = Run("verify --ids /nowhere/x");
  EXPECT_EQ(ended.exit_code, kExitUsage);
  EXPECT_THAT(ended.err, HasSubstr("--ids /nowhere/x: the file cannot be"));
  std::filesystem::remove(path);
}

TEST_F(VerifyVerbTest, P9AGapIsUndecided) {
  server_.Answer(kSlot, {});
  SetRows({{"a"}});
  Write("a");
  Outcome ended = Run("verify");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_THAT(ended.out, HasSubstr("gap slot_missing: "));
  // In use, a running walpost judges; only a gap on record counts.
  server_.Answer(kSlot, testing::SlotAt("0/100", "t"));
  SetRows({{"a"}});
  EXPECT_EQ(Run("verify").exit_code, kExitOk);
}

TEST_F(VerifyVerbTest, OneTableMayBeChosen) {
  SetTables("    - name: public.one\n    - name: public.two\n");
  SetRows({{"a"}});
  Write("a");
  EXPECT_EQ(Run("verify --table two").exit_code, kExitOk);
  const auto declared = server_.StatementsWith(kDeclare);
  ASSERT_THAT(declared, SizeIs(1));
  EXPECT_THAT(declared[0], HasSubstr("FROM \"public\".\"two\""));
}

TEST_F(VerifyVerbTest, TheReportIsWrittenToAFile) {
  SetRows({{"a"}});
  Write("a");
  const std::string path = file() + ".json";
  const Outcome ended = Run("verify --report " + path);
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  std::stringstream written;
  written << std::ifstream(path).rdbuf();
  EXPECT_THAT(written.str(), HasSubstr("\"clean\": true"));
  std::filesystem::remove(path);
  SetRows({{"a"}});
  const Outcome refused = Run("verify --report /nowhere/x");
  EXPECT_EQ(refused.exit_code, kExitUsage);
  EXPECT_THAT(refused.err, HasSubstr("--report /nowhere/x: the file cannot"));
}

TEST_F(VerifyVerbTest, AnErrorOfOneEndIsItsExitCode) {
  SetRows({{"a"}});
  server_.Fail(kDeclare, "42501", "permission denied");
  Outcome ended = Run("verify");
  EXPECT_EQ(ended.exit_code, kExitPostgres);
  EXPECT_THAT(ended.err, HasSubstr("GRANT SELECT"));
  server_.Refuse("57P03", "starting up");
  EXPECT_EQ(Run("verify").exit_code, kExitPostgres);
}

}  // namespace
}  // namespace walpost
