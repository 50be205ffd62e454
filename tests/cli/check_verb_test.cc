// walpost check: what is asked of both ends, and which findings fail it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/pause_record.h"
#include "cli/verb_fixture.h"
#include "support/parking_answers.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;

using namespace testing::wal_source;  // the words of the statements

constexpr char kLimit[] = "SELECT rolname, rolconnlimit";
const std::optional<std::string> kNull;

class CheckVerbTest : public testing::VerbFixture {
 protected:
  CheckVerbTest() {
    testing::AnswerEmptyParking(server_);
    testing::AnswerWalSource(server_);
    AnswerGapDiagnosis();
    server_.Answer(testing::parking::kDescribe,
                   testing::ParkingTableIsMissing());
    server_.Answer(kCoverage, {{"16388:690", kNull, kNull}});
    server_.Answer(kLimit, {});
    server_.Answer("pg_catalog.set_config", {{""}});  // of verify's reader
    server_.Answer("min(schemaname", {{"0", kNull}});
    SetTables("    []\n");
    Set("outbox.messages", "{prefix: outbox}");
    Set("route.topic", "t.order");
    kafka_.CreateTopic("t.order", 1);
  }
};

TEST_F(CheckVerbTest, ARoleNeedsItsSessions) {
  for (const auto& [window, needed] :
       {std::pair("0", 3), std::pair("64KiB", 4)}) {
    Set("replay.window", window);
    server_.Answer(kLimit, {{"relay", std::to_string(needed)}});
    EXPECT_THAT(Run("check").out, Not(HasSubstr("may have")));
    server_.Answer(kLimit, {{"relay", std::to_string(needed - 1)}});
    const Outcome ended = Run("check");
    EXPECT_EQ(ended.exit_code, kExitFindings);
    EXPECT_THAT(ended.out,
                HasSubstr(fmt::format("ERROR   role relay may have {} "
                                      "connections, and run needs {};",
                                      needed - 1, needed)));
    EXPECT_THAT(ended.out,
                HasSubstr("ALTER ROLE \"relay\" CONNECTION LIMIT 20;"));
  }
}

TEST_F(CheckVerbTest, APauseIsAWarning) {
  const PauseRecord record{true, "bob",
                           WallTime(std::chrono::seconds(1600000000)), "why"};
  server_.Answer(
      kComments,
      {{WithPause(testing::BirthOfOrders(), PauseSubject("orders"), record)}});
  const Outcome ended = Run("check");
  EXPECT_THAT(ended.out,
              HasSubstr("warning slot orders is paused by bob since "
                        "2020-09-13T12:26:40Z: why\n        -> walpost resume "
                        "-c FILE\n"));
  PauseRecord over = record;
  over.is_paused = false;
  server_.Answer(
      kComments,
      {{WithPause(testing::BirthOfOrders(), PauseSubject("orders"), over)}});
  EXPECT_THAT(Run("check").out, Not(HasSubstr("paused")));
}

// Its remedy would make the slot again, and hide the gap.
TEST_F(CheckVerbTest, P9ARemedyThatWouldHideAGapIsWithdrawn) {
  server_.Answer(kSlot, {});
  const Outcome ended = Run("check");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_THAT(ended.out, HasSubstr("ERROR   gap [slot_missing] "));
  EXPECT_THAT(ended.out,
              HasSubstr("ERROR   slot orders does not exist\n        -> first "
                        "what is said of the gap or the checkpoint, below\n"));
  server_.Answer(kComments, {{""}});
  EXPECT_THAT(Run("check").out,
              HasSubstr("ERROR   slot orders does not exist\n        -> "
                        "walpost init -c FILE"));
}

TEST_F(CheckVerbTest, ALetterAsLargeAsItsEventIsAWarning) {
  constexpr char kWarning[] = "warning on_error.record_too_large";
  Set("on_error.record_too_large", "dead_letter");
  EXPECT_THAT(Run("check").out, HasSubstr(kWarning));
  Set("dead_letter.payload", "cut");
  EXPECT_THAT(Run("check").out, Not(HasSubstr(kWarning)));
  Set("dead_letter.payload", "");
  Set("on_error.record_too_large", "skip");
  EXPECT_THAT(Run("check").out, Not(HasSubstr(kWarning)));
}

TEST_F(CheckVerbTest, TheInstanceThatRunsIsShown) {
  RelayStatus status;
  status.slot = "orders";
  status.state = RelayState::kStreaming;
  Answer(status);
  Outcome ended = Run("check");
  EXPECT_THAT(ended.out, HasSubstr("ok      walpost at 127.0.0.1:"));
  EXPECT_THAT(ended.out, HasSubstr(" runs, and is streaming\n"));
  status.state = RelayState::kStuck;
  status.reason = "no topic";
  Answer(status);
  ended = Run("check");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_THAT(ended.out, HasSubstr(" runs, and is stuck: no topic\n"));
  status.slot = "other";
  Answer(status);
  ended = Run("check");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_THAT(ended.out, HasSubstr("ERROR   http.listen cannot listen on "));
}

TEST_F(CheckVerbTest, AnErrorOfPostgresIsAFinding) {
  server_.Refuse("57P03", "starting up");
  const Outcome ended = Run("check");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_THAT(ended.out, HasSubstr("ERROR   Postgres: "));
}

TEST_F(CheckVerbTest, AStoreNoticesMore) {
  Set("checkpoint.store", "file");
  Set("checkpoint.path", file() + ".checkpoint");
  EXPECT_THAT(Run("check").out,
              HasSubstr("ok      checkpoint.store is set: a slot that"));
}

// A CI pipeline or an operator's rule looks for the id, not for the text.
TEST_F(CheckVerbTest, AFindingHasAnId) {
  server_.Answer(kSlot, {});
  const Outcome ended = Run("check --json");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_THAT(ended.out, HasSubstr(R"({"part":"Postgres","id":"slot_missing",)"
                                   R"("severity":"error","thing":"gap )"));
  EXPECT_THAT(ended.out,
              HasSubstr(R"({"part":"checkpoint","id":"checkpoint_store_none",)"
                        R"("severity":"note",)"));
  EXPECT_THAT(ended.out, HasSubstr(R"({"part":"Kafka","id":"kafka_ok",)"));
}

TEST_F(CheckVerbTest, AnErrorOfPostgresHasTheIdOfItsCause) {
  for (const auto& [sqlstate, id] :
       {std::pair("57P03", "postgres_unavailable"),
        std::pair("28P01", "credentials_rejected"),
        std::pair("3D000", "database_missing"),
        std::pair("53300", "postgres_connections_exhausted"),
        std::pair("42501", "postgres_privilege_missing"),
        std::pair("0A000", "postgres_check_failed")}) {
    server_.Refuse(sqlstate, "no");
    EXPECT_THAT(Run("check --json").out,
                HasSubstr(fmt::format(R"("part":"Postgres","id":"{}",)", id)));
  }
}

TEST_F(CheckVerbTest, AnErrorOfTheConfigurationIsAFindingInJson) {
  Set("http.listen", "':x'");
  for (const char* line : {"check --json", "check --offline --json"}) {
    const Outcome ended = Run(line);
    EXPECT_EQ(ended.exit_code, kExitUsage);
    EXPECT_THAT(ended.out,
                HasSubstr(R"({"part":"configuration","id":)"
                          R"("configuration_invalid","severity":"error",)"));
    EXPECT_THAT(ended.err, HasSubstr("walpost: http.listen"));
  }
  EXPECT_EQ(Run("check --offline").out, "");
  Set("http.listen", "''");
  Set("kafka.properties", "{acks: 1}");
  EXPECT_THAT(Run("check --offline --json").out,
              HasSubstr(R"("id":"kafka_property_invalid")"));
  Set("kafka.no_such_key", "1");
  EXPECT_THAT(Run("check --offline --json").out,
              HasSubstr(R"("id":"configuration_invalid")"));
}

}  // namespace
}  // namespace walpost
