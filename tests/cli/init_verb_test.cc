// walpost init: the SQL that it prints, and what it makes of what is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "cli/verb_fixture.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Outcome;
using ::testing::SizeIs;
using ::testing::StartsWith;

using namespace testing::wal_source;  // the words of the statements

constexpr char kPublicationExists[] = "SELECT 1 FROM pg_catalog.pg_publication";
constexpr char kExisting[] = "SELECT number FROM tables";
constexpr char kPublishedTables[] = "SELECT schemaname || '.' || tablename";
const std::optional<std::string> kNull;

class InitVerbTest : public testing::VerbFixture {
 protected:
  InitVerbTest() {
    testing::AnswerWalSource(server_);
    server_.Answer(kExisting, {});
    server_.Answer(kPublishedTables, {});
    server_.Answer(kPublicationExists, {});
    server_.Answer("SELECT (current_setting", {{"t"}});
    server_.Answer(kSlot, {});
    server_.Answer("NOT c.relispartition", {});
    server_.Answer("CASE WHEN c.relkind = 'r'",
                   {{"0", "r", kNull, kNull, "f", "app.events"}});
    server_.Answer("attnames, rowfilter", {{"app.events", kNull, kNull}});
    server_.Answer("format_type(a.atttypid",
                   {{"0", "id", "2950", "uuid", "", kNull},
                    {"0", "aggregate_type", "25", "text", "", kNull},
                    {"0", "aggregate_id", "25", "text", "", kNull},
                    {"0", "payload", "25", "text", "", kNull}});
    server_.Answer("sum(greatest(reltuples", {{"3"}});
    server_.Answer(") existing", {{"3"}});
    server_.Answer("pg_create_logical_replication_slot", {{"x"}});
  }
};

// Without comments, which the files have, and only from `first` on.
std::string Statements(const std::string& sql, std::string_view first) {
  std::string kept;
  bool has_begun = false;
  for (const auto line : absl::StrSplit(sql, '\n')) {
    has_begun |= absl::StartsWith(line, first.data());
    const bool is_comment =
        absl::StartsWith(line, "--") || absl::StrContains(line, "  -- ");
    if (has_begun && !line.empty() && !is_comment) {
      kept += std::string(line) + "\n";
    }
  }
  return kept;
}

TEST_F(InitVerbTest, PrintsWhatIsMissing) {
  SetTables(
      "    - name: app.events\n"
      "      columns: {payload: body, type: {constant: x}, "
      "aggregate_id: customer, timestamp: at}\n");
  const Outcome ended = Run("init --print");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_THAT(ended.out,
              HasSubstr("create table if not exists app.events (\n"));
  EXPECT_THAT(ended.out, HasSubstr("\n  \"body\" json,\n"));
  EXPECT_THAT(ended.out, HasSubstr("\n  \"customer\" text,\n"));
  EXPECT_THAT(ended.out, HasSubstr("\n  \"at\" timestamptz not null"));
  EXPECT_THAT(ended.out, HasSubstr("\n  type text,\n"));
  EXPECT_THAT(ended.out, HasSubstr("octet_length(\"body\"::text)"));
  EXPECT_THAT(ended.out, Not(HasSubstr("walpost_")));
  EXPECT_EQ(
      Statements(ended.out, "CREATE"),
      R"(CREATE PUBLICATION "outbox" FOR TABLE "app"."events" WITH (publish = 'insert', publish_via_partition_root = true);
SELECT pg_create_logical_replication_slot('orders', 'pgoutput');
)");
}

TEST_F(InitVerbTest, AColumnMayTakeTheNameOfAnother) {
  SetTables(
      "    - name: app.events\n"
      "      columns: {payload: type, type: payload, id: null}\n");
  const Outcome ended = Run("init --print");
  EXPECT_THAT(ended.out, HasSubstr("\n  \"type\" json,\n")) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("\n  \"payload\" text,\n"));
}

TEST_F(InitVerbTest, WhatExistsIsNotMadeAgain) {
  SetTables("    - name: app.one\n    - name: app.two\n");
  server_.Answer(kExisting, {{"1"}});
  server_.Answer(kPublicationExists, {{"1"}});
  server_.Answer(kPublishedTables, {{"app.two"}});
  server_.Answer(kSlot, testing::SlotAt("0/200"));
  const Outcome ended = Run("init --print");
  EXPECT_THAT(ended.out, HasSubstr("create table if not exists app.one ("));
  EXPECT_THAT(ended.out, Not(HasSubstr("exists app.two (")));
  EXPECT_THAT(ended.out,
              HasSubstr("-- Table app.two exists, and stays as it is.\n\n-- "
                        "Publication outbox exists.\nALTER PUBLICATION "
                        "\"outbox\" ADD TABLE \"app\".\"one\";\n\n-- Slot "
                        "orders exists. Restart walpost if a table is new.\n"));
}

TEST_F(InitVerbTest, PrintsAllIfTheServerDoesNotAnswer) {
  server_.Refuse("57P03", "starting up");
  const Outcome ended = Run("init --print --failover");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_THAT(ended.out, StartsWith("-- The server was not asked what exists"));
  EXPECT_THAT(ended.out, HasSubstr("create table if not exists public.outbox"));
  EXPECT_THAT(ended.out, HasSubstr("failover => true);"));
}

TEST_F(InitVerbTest, ANameThatNeedsQuotesIsMadeByHand) {
  for (const char* name : {"app.Events", "app.e-x", "app.b.c"}) {
    SetTables(fmt::format("    - name: {}\n", name));
    const Outcome ended = Run("init --print");
    EXPECT_EQ(ended.exit_code, kExitPostgres) << name;
    EXPECT_THAT(ended.err, HasSubstr(fmt::format("table {} does not", name)));
  }
}

TEST_F(InitVerbTest, PrintsForThePoller) {
  Set("source", "polling");
  Set("polling.strategy", "claim");
  Set("polling.notify", "it's");
  SetTables(
      "    - {name: app.events, order_by: id, state: {published_at: at}}\n");
  const Outcome ended = Run("init --print --role relay");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(Statements(ended.out, "create or"),
            R"(create or replace function app.events_notify()
returns trigger
language plpgsql
set search_path = pg_catalog
as $function$
begin
  perform pg_notify('it''s', '');
  return null;
end
$function$;
drop trigger if exists outbox_notify on app.events;
create trigger outbox_notify
  after insert on app.events
  for each statement execute function app.events_notify();
GRANT USAGE ON SCHEMA "app" TO "relay";
GRANT SELECT ON "app"."events" TO "relay";
GRANT UPDATE ON "app"."events" TO "relay";
)");
}

TEST_F(InitVerbTest, PrintsWhatARoleNeeds) {
  Set("checkpoint.store", "postgres");
  Set("on_error.record_too_large", "park");
  Set("retention.keep", "7d");
  Set("outbox.messages", "{prefix: outbox}");
  const Outcome ended = Run("init --print --role re'lay");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  for (const char* file :
       {"create index if not exists outbox_created_at on public.outbox",
        "create or replace function public.outbox_emit(",
        "create table if not exists public.walpost_checkpoint (",
        "create table if not exists public.walpost_parked ("}) {
    EXPECT_THAT(ended.out, HasSubstr(file));
  }
  EXPECT_EQ(
      Statements(ended.out, "CREATE"),
      R"(CREATE PUBLICATION "outbox" FOR TABLE "public"."outbox" WITH (publish = 'insert', publish_via_partition_root = true);
SELECT pg_create_logical_replication_slot('orders', 'pgoutput');
ALTER ROLE "re'lay" REPLICATION;
ALTER PUBLICATION "outbox" OWNER TO "re'lay";
GRANT USAGE ON SCHEMA "public" TO "re'lay";
GRANT SELECT ON "public"."outbox" TO "re'lay";
GRANT DELETE ON "public"."outbox" TO "re'lay";
GRANT SELECT ON "public"."walpost_checkpoint" TO "re'lay";
GRANT INSERT ON "public"."walpost_checkpoint" TO "re'lay";
GRANT UPDATE ON "public"."walpost_checkpoint" TO "re'lay";
GRANT SELECT ON "public"."walpost_parked" TO "re'lay";
GRANT INSERT ON "public"."walpost_parked" TO "re'lay";
GRANT UPDATE ON "public"."walpost_parked" TO "re'lay";
GRANT DELETE ON "public"."walpost_parked" TO "re'lay";
)");
}

TEST_F(InitVerbTest, EachStrategyOfPollingHasItsRights) {
  Set("source", "polling");
  Set("polling.strategy", "delete");
  EXPECT_EQ(Statements(Run("init --print --role relay").out, "GRANT"),
            R"(GRANT USAGE ON SCHEMA "public" TO "relay";
GRANT SELECT ON "public"."outbox" TO "relay";
GRANT UPDATE ON "public"."outbox" TO "relay";
GRANT DELETE ON "public"."outbox" TO "relay";
)");
  Set("polling.strategy", "cursor");
  SetTables(
      "    - {name: app.events, order_by: id, state: {transaction_id: xid}}\n");
  EXPECT_EQ(Statements(Run("init --print --role relay").out, "GRANT"),
            R"(GRANT USAGE ON SCHEMA "app" TO "relay";
GRANT SELECT ON "app"."events" TO "relay";
GRANT USAGE ON SCHEMA "public" TO "relay";
GRANT SELECT ON "public"."walpost_cursor" TO "relay";
GRANT INSERT ON "public"."walpost_cursor" TO "relay";
GRANT UPDATE ON "public"."walpost_cursor" TO "relay";
)");
}

TEST_F(InitVerbTest, AColumnThatItsOwnTableWouldNotHaveIsAMistake) {
  SetTables("    - name: app.events\n      columns: {id: id, payload: body}\n");
  const Outcome ended = Run("init");
  EXPECT_EQ(ended.exit_code, kExitPostgres);
  EXPECT_THAT(ended.err, HasSubstr("does not have: body. Correct"));
  EXPECT_THAT(server_.StatementsWith("create table"), IsEmpty());
}

TEST_F(InitVerbTest, MakesWhatIsMissing) {
  SetTables("    - name: app.events\n");
  server_.Answer(kComments, {{""}});
  server_.AnswerInTurn(kPublicationExists, {{}, {{"1"}}});
  server_.AnswerInTurn(kSlot, {{}, {}, testing::SlotAt("0/300")});
  const Outcome ended = Run("init");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_THAT(ended.out, StartsWith("table app.events: created\npublication "
                                    "outbox: created\nslot orders: created\n"));
  EXPECT_THAT(server_.StatementsWith("pg_create_logical_replication_slot"),
              SizeIs(1));
  EXPECT_EQ(
      FindBirthRecord(
          testing::CommentOf(server_.StatementsWith(kComment).back()), "orders")
          ->consistent_point,
      Lsn(0x300));
}

}  // namespace
}  // namespace walpost
