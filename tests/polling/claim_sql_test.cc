#include "polling/claim_sql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pgoutput/type_oid.h"
#include "support/one_line.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::OneLine;
using ::testing::StartsWith;

constexpr uint32_t kTextOid = 25;
constexpr uint32_t kUuidOid = 2950;

std::string Quote(std::string_view text) {
  return "'" + std::string(text) + "'";
}

pgoutput::RelationSchema Schema(
    const std::vector<std::pair<std::string, uint32_t>>& columns) {
  pgoutput::RelationSchema schema;
  schema.schema = "public";
  schema.name = "outbox";
  for (const auto& [name, oid] : columns) schema.columns.push_back({name, oid});
  return schema;
}

PolledTable Table(const RowStateOptions& state,
                  const std::string& order_by = "seq") {
  TableOptions options;
  options.state = state;
  options.order_by = order_by;
  const auto table = MakePolledTable(
      options, Schema({{"id", kUuidOid},
                       {"seq", pgoutput::kInt8Oid},
                       {"aggregate_type", kTextOid},
                       {"aggregate_id", kTextOid},
                       {"created_at", pgoutput::kTimestamptzOid}}));
  EXPECT_TRUE(table.ok()) << table.status();
  return *table;
}

RowStateOptions WithLease() {
  RowStateOptions state;
  state.status = "status";
  state.locked_until = "locked_until";
  state.next_attempt_at = "next_attempt_at";
  state.attempts = "attempts";
  state.last_error = "last_error";
  return state;
}

RowStateOptions WithTimestampOnly() {
  RowStateOptions state;
  state.published_at = "done";
  return state;
}

ClaimSql InLeaseTable(const PolledTable& table) {
  return {table, seconds(30), Quote, LeaseTableOptions{"app.leases", "me"}};
}

TEST(PolledTableTest, RowsAreOrderedByTheSequenceOrElseTheId) {
  EXPECT_EQ(Table({}).order, "seq");
  EXPECT_FALSE(Table({}).order_has_ties);
  EXPECT_EQ(Table({}, "").order, "id");
  EXPECT_FALSE(Table({}, "").order_has_ties);
  EXPECT_TRUE(Table({}, "created_at").order_has_ties);
}

// Two rows may be written in the same millisecond.
TEST(PolledTableTest, P3ATimeInMillisecondsHasTies) {
  TableOptions options;
  options.order_by = "made_ms";
  options.columns.timestamp = {FieldSource::Kind::kColumn, "made_ms"};
  const auto table = MakePolledTable(
      options, Schema({{"id", kUuidOid}, {"made_ms", pgoutput::kInt8Oid}}));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_TRUE(table->order_has_ties);
}

TEST(PolledTableTest, AnAggregateIsWhatItsColumnsSay) {
  EXPECT_THAT(Table({}).aggregate,
              ::testing::ElementsAre("aggregate_id", "aggregate_type"));
  TableOptions options;
  options.columns.aggregate_type = {FieldSource::Kind::kConstant, "order"};
  options.columns.aggregate_id = {FieldSource::Kind::kColumn, "id"};
  const auto alone = MakePolledTable(options, Schema({{"id", kUuidOid}}));
  ASSERT_TRUE(alone.ok());
  EXPECT_THAT(alone->aggregate, IsEmpty());
}

TEST(PolledTableTest, ATableWithoutAnIdOrItsOrderIsRefusedByName) {
  TableOptions options;
  const absl::Status no_id =
      MakePolledTable(options, Schema({{"key", kUuidOid}})).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(no_id));
  EXPECT_THAT(std::string(no_id.message()),
              HasSubstr("outbox.tables.columns.id"));
  options.order_by = "seq";
  const absl::Status no_order =
      MakePolledTable(options, Schema({{"id", kUuidOid}})).status();
  EXPECT_THAT(std::string(no_order.message()), HasSubstr("has no column seq"));
}

TEST(ClaimSqlTest, AClaimIsOneStatementThatSkipsLockedRows) {
  const PolledTable table = Table(WithLease());
  const std::string sql = ClaimSql(table, seconds(30), Quote).Claim(7, {});
  EXPECT_EQ(sql.find(';'), std::string::npos);
  EXPECT_THAT(sql, HasSubstr("ORDER BY o.\"seq\" LIMIT 7 FOR UPDATE OF o SKIP "
                             "LOCKED"));
  EXPECT_THAT(sql, HasSubstr("\"status\" = 'processing', \"locked_until\" = "
                             "now() + interval '30000 ms'"));
  EXPECT_THAT(sql,
              HasSubstr("(o.\"aggregate_id\" IS NULL OR "
                        "o.\"aggregate_type\" IS NULL OR "
                        "(o.\"aggregate_id\", o.\"aggregate_type\") NOT IN "
                        "(SELECT p.aggregate0, p.aggregate1 FROM blocked p "
                        "WHERE p.aggregate0 IS NOT NULL AND p.aggregate1 IS "
                        "NOT NULL))"));
}

// Otherwise rows that are refused for want of a topic would be all it sees.
TEST(ClaimSqlTest, WhatWaitsOrIsHeldIsNotACandidateAndBlocksItsAggregate) {
  const PolledTable table = Table(WithLease());
  const std::vector<std::string> held = {"h"};
  const std::string sql = ClaimSql(table, seconds(30), Quote).Claim(7, held);
  EXPECT_THAT(sql, HasSubstr("(o.\"next_attempt_at\" IS NULL OR "
                             "o.\"next_attempt_at\" <= now())"));
  EXPECT_THAT(sql, HasSubstr("NOT o.\"id\" IN ('h')"));
  EXPECT_THAT(sql, HasSubstr("b.\"status\" = 'processing'"));
  EXPECT_THAT(sql, HasSubstr("b.\"next_attempt_at\" > now()"));
  EXPECT_THAT(sql, HasSubstr("b.\"id\" IN ('h')"));
}

// The planner would take the index of pending rows, which is as long as the
// backlog, when it believes that there is none.
TEST(ClaimSqlTest, RowsThatWaitAreLookedForByTheirOwnIndexWhereThereIsOne) {
  PolledTable table = Table(WithLease());
  const ClaimSql sql(table, seconds(30), Quote);
  EXPECT_THAT(sql.Claim(7, {}),
              HasSubstr("b WHERE b.\"status\" = 'pending' AND "
                        "b.\"next_attempt_at\" > now()"));
  table.found_by = {"next_attempt_at"};
  EXPECT_THAT(sql.Claim(7, {}),
              HasSubstr("b WHERE (b.\"status\" = 'pending') IS TRUE AND "
                        "b.\"next_attempt_at\" > now()"));
}

// Thousands may wait behind one that was refused: none of them is compared with
// each candidate.
TEST(ClaimSqlTest, RowsOfABlockedAggregateAreNotAmongThoseThatWereSkipped) {
  const PolledTable table = Table(WithLease());
  const std::string sql = ClaimSql(table, seconds(30), Quote).Claim(7, {});
  const std::string skipped =
      sql.substr(sql.find("skipped AS"), sql.find("chosen AS"));
  EXPECT_THAT(skipped, HasSubstr("(s.\"aggregate_id\", s.\"aggregate_type\") "
                                 "NOT IN (SELECT p.aggregate0, p.aggregate1 "
                                 "FROM blocked p"));
  EXPECT_THAT(sql, HasSubstr("WHERE (c.aggregate0 IS NULL OR c.aggregate1 IS "
                             "NULL OR (c.aggregate0, c.aggregate1) NOT IN"));
}

TEST(TableSqlTest, TheAgeOfARowIsInSecondsWhateverTheTypeOfItsClock) {
  PolledTable table;
  table.schema = Schema(
      {{"at", pgoutput::kTimestamptzOid}, {"millis", pgoutput::kInt8Oid}});
  EXPECT_EQ(AgeSql(table, "o"), "NULL");
  table.timestamp = "at";
  EXPECT_EQ(AgeSql(table, "o"),
            "CASE WHEN isfinite(o.\"at\") THEN extract(epoch FROM now() - "
            "o.\"at\") END");
  table.timestamp = "millis";
  EXPECT_EQ(AgeSql(table, "o"),
            "extract(epoch FROM now()) - o.\"millis\" / 1000.0");
}

TEST(ClaimSqlTest, WithoutAProcessingValueTheLeaseAloneSaysWhoHoldsARow) {
  RowStateOptions state = WithLease();
  state.processing = "";
  const PolledTable table = Table(state);
  const ClaimSql sql(table, seconds(30), Quote);
  EXPECT_THAT(sql.Claim(1, {}), HasSubstr("o.\"locked_until\" <= now()"));
  EXPECT_THAT(sql.Claim(1, {}), Not(HasSubstr("processing")));
  EXPECT_THAT(sql.ReturnExpired(), IsEmpty());
}

TEST(ClaimSqlTest, AHeartbeatEndsALeaseAfterItsLength) {
  RowStateOptions state = WithLease();
  state.heartbeat_at = "beat";
  state.locked_until = "";
  const PolledTable table = Table(state);
  const ClaimSql sql(table, seconds(2), Quote);
  EXPECT_THAT(sql.Claim(1, {}), HasSubstr("\"beat\" = now()"));
  EXPECT_THAT(sql.ReturnExpired(),
              HasSubstr("u.\"beat\" <= now() + interval '-2000 ms'"));
}

TEST(ClaimSqlTest, RowsWithTheSamePlaceAreToldApartByTheirId) {
  const PolledTable table = Table(WithLease(), "created_at");
  const std::string sql = ClaimSql(table, seconds(1), Quote).Claim(1, {});
  EXPECT_THAT(sql, HasSubstr("ORDER BY o.\"created_at\", o.\"id\""));
  EXPECT_THAT(sql, HasSubstr("(s.place, s.id) < (c.place, c.id)"));
}

TEST(ClaimSqlTest, ATableWithoutAggregatesIsLockedInOrderAndNoMore) {
  TableOptions options;
  options.columns.aggregate_id.kind = FieldSource::Kind::kAbsent;
  const auto table = MakePolledTable(options, Schema({{"id", kUuidOid}}));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(ClaimSql(*table, seconds(1), Quote).Lock(3, {}),
            "WITH chosen AS MATERIALIZED (\n  SELECT o.\"id\" AS id, o.\"id\" "
            "AS place FROM \"public\".\"outbox\" o WHERE true ORDER BY "
            "o.\"id\" LIMIT 3 FOR UPDATE OF o SKIP LOCKED)\nSELECT r.\"id\" "
            "FROM \"public\".\"outbox\" r JOIN chosen ON r.\"id\" = chosen.id "
            "ORDER BY r.\"id\" FOR UPDATE OF r");
}

TEST(ClaimSqlTest, MarkingSetsWhatTheTableHas) {
  const std::vector<std::string> ids = {"a", "b"};
  const PolledTable timestamp = Table(WithTimestampOnly());
  EXPECT_EQ(ClaimSql(timestamp, seconds(1), Quote).MarkPublished(ids),
            "UPDATE \"public\".\"outbox\" u SET \"done\" = now() WHERE "
            "u.\"id\" IN ('a', 'b')");
  const PolledTable lease = Table(WithLease());
  EXPECT_EQ(ClaimSql(lease, seconds(1), Quote).MarkPublished(ids),
            "UPDATE \"public\".\"outbox\" u SET \"status\" = 'published', "
            "\"locked_until\" = NULL WHERE u.\"id\" IN ('a', 'b')");
}

TEST(ClaimSqlTest, ASecondLookPassesTheAggregatesOfRowsThatAreLocked) {
  const PolledTable table = Table(WithLease());
  const ClaimSql sql(table, seconds(1), Quote);
  EXPECT_THAT(sql.Lock(7, {}), Not(HasSubstr("candidate2")));
  const std::string far = sql.Lock(7, {}, 30);
  const std::string second = far.substr(far.find("candidate2 AS"));
  EXPECT_THAT(second, HasSubstr("AND EXISTS (SELECT FROM candidate) AND NOT "
                                "EXISTS (SELECT FROM clear)"));
  EXPECT_THAT(second, HasSubstr("(o.\"aggregate_id\", o.\"aggregate_type\") "
                                "NOT IN (SELECT p.aggregate0, p.aggregate1 "
                                "FROM skipped p"));
  EXPECT_THAT(second, HasSubstr("LIMIT 30 FOR UPDATE OF o SKIP LOCKED"));
  EXPECT_THAT(second,
              HasSubstr("chosen AS MATERIALIZED (SELECT * FROM clear UNION ALL "
                        "(SELECT * FROM clear2 ORDER BY place LIMIT 7))"));
  const PolledTable ties = Table(WithLease(), "created_at");
  EXPECT_THAT(ClaimSql(ties, seconds(1), Quote).Lock(7, {}, 30),
              HasSubstr("(SELECT * FROM clear2 ORDER BY place, id LIMIT 7)"));
}

// Whoever has a row now claimed it after our lease had ended, so that its lease
// is a later one.
TEST(ClaimSqlTest, AStatementThatComesTooLateLeavesOutWhatAnotherHas) {
  const std::vector<std::string> ids = {"a"};
  const PolledTable table = Table(WithLease());
  const ClaimSql sql(table, seconds(1), Quote);
  const std::string fence = " AND (u.\"locked_until\" <= '12:00') IS TRUE";
  EXPECT_THAT(sql.Release(ids, "12:00"), EndsWith(fence));
  EXPECT_THAT(sql.Refuse({"a", "why", milliseconds(1), false}, "12:00"),
              EndsWith(fence));
  EXPECT_EQ(sql.Renew(ids, "12:00"),
            "UPDATE \"public\".\"outbox\" u SET \"locked_until\" = now() + "
            "interval '1000 ms' WHERE u.\"id\" IN ('a')" +
                fence + " RETURNING u.\"id\", u.\"locked_until\"");
  RowStateOptions beats = WithLease();
  beats.locked_until = "";
  beats.heartbeat_at = "beat";
  const PolledTable beating = Table(beats);
  EXPECT_THAT(ClaimSql(beating, seconds(1), Quote).Release(ids, "12:00"),
              EndsWith(" AND (u.\"beat\" <= '12:00') IS TRUE"));
}

TEST(ClaimSqlTest, ARefusalIsNotedWithItsNextAttempt) {
  const PolledTable table = Table(WithLease());
  const RefusedRow row{"a", "why", milliseconds(250), false};
  EXPECT_EQ(ClaimSql(table, seconds(1), Quote).Refuse(row),
            "UPDATE \"public\".\"outbox\" u SET \"status\" = 'pending', "
            "\"next_attempt_at\" = now() + interval '250 ms', "
            "\"locked_until\" = NULL, \"attempts\" = coalesce(u.\"attempts\", "
            "0) + 1, \"last_error\" = 'why' WHERE u.\"id\" IN ('a')");
}

TEST(ClaimSqlTest, ARowThatIsGivenUpIsFailedAndWaitsForNothing) {
  const PolledTable table = Table(WithLease());
  const RefusedRow row{"a", "why", milliseconds(250), true};
  const std::string sql = ClaimSql(table, seconds(1), Quote).Refuse(row);
  EXPECT_THAT(sql, HasSubstr("\"status\" = 'failed', \"next_attempt_at\" = "
                             "NULL"));
}

TEST(ClaimSqlTest, ALeaseServesAsTheNextAttemptWhereThereIsNoOtherColumn) {
  RowStateOptions state = WithLease();
  state.next_attempt_at = "";
  const PolledTable table = Table(state);
  const ClaimSql sql(table, seconds(1), Quote);
  const RefusedRow row{"a", "why", milliseconds(250), false};
  EXPECT_TRUE(sql.keeps_retry_time());
  EXPECT_THAT(sql.Refuse(row),
              HasSubstr("\"locked_until\" = now() + interval '250 ms'"));
  EXPECT_THAT(sql.Claim(1, {}), HasSubstr("o.\"locked_until\" <= now()"));
}

TEST(ClaimSqlTest, ATableWithoutColumnsForItKeepsNoRefusal) {
  const PolledTable table = Table(WithTimestampOnly());
  const ClaimSql sql(table, seconds(1), Quote);
  EXPECT_THAT(sql.Refuse({"a", "why", milliseconds(1), false}), IsEmpty());
  EXPECT_FALSE(sql.keeps_retry_time());
}

// One part after the other, as the header names them. A row of an aggregate
// whose earlier row waits, or is another poller's, must not be claimed (P3).
TEST(ClaimSqlTest, P3AClaimPassesNoEarlierRowOfAnAggregate) {
  RowStateOptions state;
  state.status = "status";
  state.locked_until = "locked_until";
  state.next_attempt_at = "next";
  const PolledTable table = Table(state);
  const std::vector<std::string> held = {"h"};
  const std::string sql = ClaimSql(table, seconds(30), Quote).Lock(7, held);
  EXPECT_EQ(OneLine(sql), OneLine(R"(
    WITH blocked AS MATERIALIZED (
      SELECT b."id" AS id, b."seq" AS place, b."aggregate_id" AS aggregate0,
        b."aggregate_type" AS aggregate1 FROM "public"."outbox" b
        WHERE b."status" = 'processing'
      UNION ALL
      SELECT b."id" AS id, b."seq" AS place, b."aggregate_id" AS aggregate0,
        b."aggregate_type" AS aggregate1 FROM "public"."outbox" b
        WHERE b."status" = 'pending' AND b."next" > now()
      UNION ALL
      SELECT b."id" AS id, b."seq" AS place, b."aggregate_id" AS aggregate0,
        b."aggregate_type" AS aggregate1 FROM "public"."outbox" b
        WHERE b."status" = 'pending' AND b."id" IN ('h')),
    candidate AS MATERIALIZED (
      SELECT o."id" AS id, o."seq" AS place, o."aggregate_id" AS aggregate0,
        o."aggregate_type" AS aggregate1 FROM "public"."outbox" o
        WHERE o."status" = 'pending' AND (o."next" IS NULL OR o."next" <= now())
        AND NOT o."id" IN ('h')
        AND (o."aggregate_id" IS NULL OR o."aggregate_type" IS NULL OR
        (o."aggregate_id", o."aggregate_type") NOT IN
        (SELECT p.aggregate0, p.aggregate1 FROM blocked p WHERE p.aggregate0 IS
        NOT NULL AND p.aggregate1 IS NOT NULL))
      ORDER BY o."seq" LIMIT 7 FOR UPDATE OF o SKIP LOCKED),
    skipped AS MATERIALIZED (
      SELECT s."id" AS id, s."seq" AS place, s."aggregate_id" AS aggregate0,
        s."aggregate_type" AS aggregate1 FROM "public"."outbox" s
        WHERE s."status" = 'pending' AND s."seq" <= (SELECT place FROM candidate
        ORDER BY place DESC NULLS LAST LIMIT 1)
        AND s."id" NOT IN (SELECT id FROM candidate WHERE id IS NOT NULL)
        AND (s."aggregate_id" IS NULL OR s."aggregate_type" IS NULL OR
        (s."aggregate_id", s."aggregate_type") NOT IN
        (SELECT p.aggregate0, p.aggregate1 FROM blocked p WHERE p.aggregate0 IS
        NOT NULL AND p.aggregate1 IS NOT NULL))),
    clear AS MATERIALIZED (
      SELECT * FROM candidate c WHERE (c.aggregate0 IS NULL OR c.aggregate1 IS
        NULL OR (c.aggregate0, c.aggregate1) NOT IN (SELECT p.aggregate0,
        p.aggregate1 FROM skipped p WHERE p.aggregate0 IS NOT NULL AND
        p.aggregate1 IS NOT NULL))
      OR NOT EXISTS (SELECT FROM skipped s WHERE s.aggregate0 = c.aggregate0 AND
        s.aggregate1 = c.aggregate1 AND s.place < c.place)),
    chosen AS MATERIALIZED (SELECT * FROM clear)
    SELECT r."id", r."seq", r."aggregate_type", r."aggregate_id",
      r."created_at" FROM "public"."outbox" r JOIN chosen ON r."id" = chosen.id
      ORDER BY r."seq" FOR UPDATE OF r)"));
}

// Of one snapshot, and no row of it is left out: none is behind another's.
TEST(ClaimSqlTest, P3AnUndisturbedClaimTakesEveryRowThatItFinds) {
  RowStateOptions state;
  state.status = "status";
  state.locked_until = "locked_until";
  state.next_attempt_at = "next";
  const PolledTable table = Table(state);
  const std::string sql =
      ClaimSql(table, seconds(30), Quote).ClaimUndisturbed(7, {});
  EXPECT_EQ(OneLine(sql), OneLine(R"(
    SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
    WITH blocked AS MATERIALIZED (
      SELECT b."id" AS id, b."seq" AS place, b."aggregate_id" AS aggregate0,
        b."aggregate_type" AS aggregate1 FROM "public"."outbox" b
        WHERE b."status" = 'processing'
      UNION ALL
      SELECT b."id" AS id, b."seq" AS place, b."aggregate_id" AS aggregate0,
        b."aggregate_type" AS aggregate1 FROM "public"."outbox" b
        WHERE b."status" = 'pending' AND b."next" > now()),
    chosen AS MATERIALIZED (
      SELECT o."id" AS id, o."seq" AS place, o."aggregate_id" AS aggregate0,
        o."aggregate_type" AS aggregate1 FROM "public"."outbox" o
        WHERE o."status" = 'pending' AND (o."next" IS NULL OR o."next" <= now())
        AND (o."aggregate_id" IS NULL OR o."aggregate_type" IS NULL OR
        (o."aggregate_id", o."aggregate_type") NOT IN
        (SELECT p.aggregate0, p.aggregate1 FROM blocked p WHERE p.aggregate0 IS
        NOT NULL AND p.aggregate1 IS NOT NULL))
      ORDER BY o."seq" LIMIT 7 FOR UPDATE OF o NOWAIT),
    claimed AS (
      UPDATE "public"."outbox" u SET "status" = 'processing',
        "locked_until" = now() + interval '30000 ms' FROM chosen
        WHERE u."id" = chosen.id RETURNING u.*)
    SELECT r."id", r."seq", r."aggregate_type", r."aggregate_id",
      r."created_at" FROM claimed r ORDER BY r."seq")"));
}

// The rows are locked, and not written.
TEST(ClaimSqlTest, P3AClaimByALeaseTableWritesTheKeysOfItsRows) {
  RowStateOptions state;
  state.status = "status";
  const PolledTable table = Table(state);
  const ClaimSql sql = InLeaseTable(table);
  EXPECT_EQ(OneLine(sql.ClaimUndisturbed(7, {})), OneLine(R"(
    SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
    LOCK TABLE "app"."leases" IN SHARE UPDATE EXCLUSIVE MODE;
    WITH ended AS (
      DELETE FROM "app"."leases" l
        WHERE l.outbox_table = '"public"."outbox"'::regclass
        AND l.until <= now() - CASE WHEN l.keys = '{}' THEN interval '1 day'
        ELSE interval '0' END
      RETURNING l.holder, l.piece),
    held AS MATERIALIZED (
      SELECT unnest(l.keys) AS key FROM "app"."leases" l
        WHERE l.outbox_table = '"public"."outbox"'::regclass
        AND (l.holder, l.piece) NOT IN (SELECT holder, piece FROM ended)),
    chosen AS MATERIALIZED (
      SELECT o."id", o."seq", o."aggregate_type", o."aggregate_id",
        o."created_at" FROM "public"."outbox" o WHERE o."status" = 'pending'
        AND coalesce(hashtextextended(o."aggregate_type"::text,
        hashtextextended(o."aggregate_id"::text, 0)),
        hashtextextended(o."id"::text, 1)) NOT IN (SELECT key FROM held)
      ORDER BY o."seq" LIMIT 7 FOR UPDATE OF o NOWAIT),
    leased AS (
      INSERT INTO "app"."leases" AS l
        SELECT '"public"."outbox"'::regclass, 'me', place / 200 + (SELECT
        coalesce(max(l.piece) + 1, 0) FROM "app"."leases" l WHERE
        l.outbox_table = '"public"."outbox"'::regclass AND l.holder = 'me' AND
        l.keys <> '{}'), now() + interval '30000 ms', array_agg(key)
      FROM (SELECT key, row_number() OVER () - 1 AS place FROM (SELECT DISTINCT
        coalesce(hashtextextended(c."aggregate_type"::text,
        hashtextextended(c."aggregate_id"::text, 0)),
        hashtextextended(c."id"::text, 1)) AS key FROM chosen c) distinct_keys)
        numbered GROUP BY place / 200
      ON CONFLICT (outbox_table, holder, piece) DO UPDATE SET until =
        excluded.until, keys = excluded.keys)
    SELECT r."id", r."seq", r."aggregate_type", r."aggregate_id",
      r."created_at" FROM chosen r ORDER BY r."seq")"));
}

// Otherwise both would take them, each from a snapshot before the other's
// lease.
TEST(ClaimSqlTest, P3AClaimByALeaseTableBeginsWithItsLock) {
  const PolledTable table = Table(WithTimestampOnly());
  const std::string lock =
      "LOCK TABLE \"app\".\"leases\" IN SHARE UPDATE EXCLUSIVE MODE; WITH ";
  EXPECT_THAT(InLeaseTable(table).Claim(7, {}), StartsWith(lock));
  EXPECT_THAT(InLeaseTable(table).Claim(7, {}, 30), StartsWith(lock));
}

// Neither look takes them, and they do not count as skipped ones.
TEST(ClaimSqlTest, NoLookSeesWhatIsHeldByALeaseTable) {
  const PolledTable table = Table(WithTimestampOnly());
  const std::string sql = InLeaseTable(table).Claim(7, {}, 30);
  for (const char* part :
       {"candidate AS", "skipped AS", "candidate2 AS", "skipped2 AS"}) {
    const size_t begin = sql.find(part);
    EXPECT_THAT(sql.substr(begin, sql.find("),\n", begin) - begin),
                HasSubstr("NOT IN (SELECT key FROM held)"))
        << part;
  }
  EXPECT_THAT(sql, HasSubstr("hashtextextended(c.aggregate1::text, "
                             "hashtextextended(c.aggregate0::text, 0))"));
  EXPECT_THAT(sql, EndsWith("FOR UPDATE OF r"));
}

TEST(ClaimSqlTest, ARowWithoutAnAggregateIsHeldByItsId) {
  TableOptions options;
  options.columns.aggregate_id.kind = FieldSource::Kind::kAbsent;
  const auto table = MakePolledTable(options, Schema({{"id", kUuidOid}}));
  ASSERT_TRUE(table.ok());
  EXPECT_THAT(InLeaseTable(*table).Claim(3, {}),
              AllOf(HasSubstr("WITH ended AS ("), HasSubstr(",\nheld AS"),
                    HasSubstr("o WHERE true\n  AND "
                              "hashtextextended(o.\"id\"::text, 1) NOT IN "
                              "(SELECT key FROM held)")));
}

// Whoever deletes the lease before has the row.
TEST(ClaimSqlTest, AStatementThatComesTooLateLeavesOutWhatTheTableSays) {
  const std::vector<std::string> ids = {"a"};
  const PolledTable table = Table(WithLease());
  const ClaimSql sql = InLeaseTable(table);
  const std::string key =
      "coalesce(hashtextextended(u.\"aggregate_type\"::text, "
      "hashtextextended(u.\"aggregate_id\"::text, 0)), "
      "hashtextextended(u.\"id\"::text, 1))";
  const std::string ours =
      "l.outbox_table = '\"public\".\"outbox\"'::regclass AND l.holder = 'me'";
  EXPECT_THAT(
      sql.Refuse({"a", "why", milliseconds(1), false}, "me"),
      EndsWith(" WHERE u.\"id\" IN ('a') AND EXISTS (SELECT FROM "
               "\"app\".\"leases\" l WHERE " +
               ours + " AND " + key + " = ANY (l.keys) FOR KEY SHARE)"));
  EXPECT_EQ(OneLine(sql.Renew(ids, "me")),
            "WITH renewed AS ( UPDATE \"app\".\"leases\" l SET until = now() + "
            "interval '30000 ms' WHERE " +
                ours +
                " AND l.keys <> '{}' RETURNING l.keys) SELECT u.\"id\", 'me' "
                "FROM \"public\".\"outbox\" u WHERE u.\"id\" IN ('a') AND " +
                key + " IN (SELECT unnest(keys) FROM renewed)");
  EXPECT_THAT(sql.MarkPublished(ids), Not(HasSubstr("leases")));
}

TEST(ClaimSqlTest, WhatIsNoLongerKeptIsFree) {
  const std::vector<std::string> ids = {"a"};
  const PolledTable table = Table(WithTimestampOnly());
  const ClaimSql sql = InLeaseTable(table);
  EXPECT_THAT(sql.Release(ids, "me"), IsEmpty());
  EXPECT_EQ(sql.KeepOnly({}),
            "UPDATE \"app\".\"leases\" l SET keys = '{}' WHERE l.outbox_table "
            "= '\"public\".\"outbox\"'::regclass AND l.holder = 'me' AND "
            "l.keys <> '{}'");
  EXPECT_THAT(sql.KeepOnly(ids),
              HasSubstr("SET keys = ARRAY (SELECT key FROM unnest(l.keys) AS "
                        "key WHERE key IN (SELECT coalesce("));
  EXPECT_THAT(sql.KeepOnly(ids), HasSubstr("u WHERE u.\"id\" IN ('a')))"));
  EXPECT_THAT(ClaimSql(table, seconds(1), Quote).KeepOnly(ids), IsEmpty());
}

TEST(LeaseTableTest, TheScriptIsForItsNameAndTheGrantForTheRole) {
  EXPECT_THAT(LeaseTableScript("app.l"),
              HasSubstr("create table if not exists \"app\".\"l\" ("));
  const std::string sql = GrantLeaseTableSql("app.l", "the role");
  EXPECT_EQ(sql.find('\n'), std::string::npos);
  EXPECT_THAT(sql, HasSubstr("create table if not exists \"app\".\"l\" ("));
  EXPECT_THAT(sql, EndsWith("GRANT USAGE ON SCHEMA \"app\" TO \"the role\"; "
                            "GRANT SELECT, INSERT, UPDATE, DELETE ON "
                            "\"app\".\"l\" TO \"the role\";"));
}

TEST(ClaimSqlTest, AnIdOfAnyTextIsOneElementOfTheArray) {
  PolledTable table = Table(WithTimestampOnly());
  table.id_type = "text";
  const std::vector<std::string> ids = {R"(a"b\c)", "d,{e}", "NULL"};
  EXPECT_THAT(ClaimSql(table, seconds(1), Quote).Delete(ids),
              HasSubstr(R"(= ANY ('{"a\"b\\c","d,{e}","NULL"}'::text[]))"));
  // That of its array is the element's.
  table.id_type = "text[]";
  EXPECT_THAT(ClaimSql(table, seconds(1), Quote).Delete(ids),
              HasSubstr(R"(IN ('a"b\c'::text[], 'd,{e}'::text[])"));
}

TEST(ClaimSqlTest, AHeartbeatWithoutAProcessingValueIsALeaseOfPendingRows) {
  RowStateOptions state;
  state.status = "status";
  state.processing = "";
  state.heartbeat_at = "beat";
  const PolledTable table = Table(state);
  const std::string sql = ClaimSql(table, seconds(2), Quote).Claim(1, {});
  EXPECT_THAT(sql, HasSubstr("o.\"status\" = 'pending' AND (o.\"beat\" IS NULL "
                             "OR o.\"beat\" <= now() + interval '-2000 ms')"));
  EXPECT_THAT(sql, HasSubstr("b.\"status\" = 'pending' AND b.\"beat\" > now() "
                             "+ interval '-2000 ms'"));
}

TEST(ClaimSqlTest, OnlyALimitedColumnCutsTheError) {
  PolledTable table = Table(WithLease());
  const RefusedRow row{"a", "why", milliseconds(1), false};
  table.longest_error = 1;
  EXPECT_THAT(ClaimSql(table, seconds(1), Quote).Refuse(row),
              HasSubstr("\"last_error\" = left('why', 1)"));
}

TEST(PolledTableTest, ARowsAgeIsThatOfItsUsualColumn) {
  EXPECT_EQ(Table({}).timestamp, "created_at");
  TableOptions options;
  const auto plain = MakePolledTable(options, Schema({{"id", kUuidOid}}));
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->timestamp, "");
}

}  // namespace
}  // namespace walpost
