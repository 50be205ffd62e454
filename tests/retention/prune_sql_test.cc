#include "retention/prune_sql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/one_line.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::OneLine;

PruneRule Rule() {
  PruneRule rule;
  rule.table = "\"app\".\"outbox\"";
  rule.time_column = "created_at";
  rule.sent = "sent OR old";
  rule.limit = "2026-01-31 00:00:00+00";
  return rule;
}

TEST(PruneSqlTest, ABatchNeverLeavesOutTheConditionOfTheSent) {
  for (const char* from : {"", "2026-01-30 00:00:00+00"}) {
    const std::string sql = DeleteBatchSql(Rule(), from, 1000);
    EXPECT_THAT(sql, HasSubstr("AND (sent OR old) ORDER BY")) << sql;
    EXPECT_THAT(sql, HasSubstr("created_at < '2026-01-31 00:00:00+00'"));
    EXPECT_THAT(sql, HasSubstr("LIMIT 1000"));
  }
}

TEST(PruneSqlTest, TheFirstBatchBeginsAtTheBeginningAndLaterOnesWhereItEnded) {
  EXPECT_THAT(DeleteBatchSql(Rule(), "", 10), Not(HasSubstr(">=")));
  EXPECT_THAT(DeleteBatchSql(Rule(), "2026-01-30 12:00:00.5+00", 10),
              HasSubstr("created_at >= '2026-01-30 12:00:00.5+00'"));
}

TEST(PruneSqlTest, RowsOfOtherPartitionsAreNotTouched) {
  const std::string sql = DeleteBatchSql(Rule(), "", 10);
  EXPECT_THAT(sql, HasSubstr("FROM ONLY \"app\".\"outbox\" o WHERE"));
  EXPECT_THAT(sql, HasSubstr("DELETE FROM ONLY \"app\".\"outbox\" AS old"));
}

TEST(PruneSqlTest, TheCountSetsApartWhatIsKept) {
  const std::string sql = CountOldSql(Rule());
  EXPECT_THAT(sql, HasSubstr("FILTER (WHERE sent OR old)"));
  // NULL is not sent.
  EXPECT_THAT(sql, HasSubstr("FILTER (WHERE (sent OR old) IS NOT TRUE)"));
}

TEST(PruneSqlTest, OneRowOfAnyAgeThatWasNotSentKeepsAPartition) {
  PruneRule rule = Rule();
  rule.covered = "through";
  const std::string count = CountUnsentSql(rule);
  EXPECT_THAT(count, HasSubstr("FILTER (WHERE (sent OR old) IS NOT TRUE)"));
  EXPECT_THAT(count, HasSubstr("FILTER (WHERE (through) IS NOT TRUE)"));
  EXPECT_THAT(count, Not(HasSubstr("created_at")));
  // Rows of partitions of the partition as well.
  EXPECT_THAT(count, Not(HasSubstr("ONLY")));
  const std::string pages = UnsentInPagesSql(rule, 5000, 10000);
  EXPECT_THAT(pages, HasSubstr("ctid >= '(5000,0)' AND ctid < '(10000,0)'"));
  EXPECT_THAT(pages, HasSubstr("(sent OR old) IS NOT TRUE"));
}

CoveredRule Born() {
  CoveredRule rule;
  rule.streamed_from = 745;
  rule.born_at = WallTime(std::chrono::seconds(1'700'000'000));
  rule.time_column = "created_at";
  return rule;
}

TEST(CoveredSqlTest, WithoutARecordNothingIsCovered) {
  EXPECT_EQ(CoveredSql(CoveredRule()), "false");
  CoveredRule rule = Born();
  rule.streamed_from = 0;
  EXPECT_EQ(CoveredSql(rule), "false");
}

TEST(CoveredSqlTest, BothTheTransactionAndTheTimeAreFences) {
  const std::string sql = CoveredSql(Born());
  EXPECT_THAT(sql, HasSubstr("xmin::text::bigint >= 3 AND "));
  EXPECT_THAT(sql, HasSubstr("- 745 AND created_at >= "
                             "to_timestamp(1700000000)"));
  EXPECT_THAT(sql, Not(HasSubstr(" OR ")));
}

TEST(CoveredSqlTest, PartOfASecondOfTheBirthBelongsToBefore) {
  CoveredRule rule = Born();
  rule.born_at += std::chrono::microseconds(1);
  EXPECT_THAT(CoveredSql(rule), HasSubstr("to_timestamp(1700000001)"));
}

TEST(CoveredSqlTest, ATimeWithoutZoneMayBeAheadOfUtc) {
  CoveredRule rule = Born();
  rule.time_has_zone = false;
  EXPECT_THAT(CoveredSql(rule),
              HasSubstr("created_at >= to_timestamp(1700000000) AT TIME ZONE "
                        "'UTC' + interval '14 hours'"));
}

TEST(CoveredSqlTest, WhereEverythingWasPublishedThereIsNoFence) {
  CoveredRule rule = Born();
  rule.streamed_from = 3;
  rule.born_at = WallTime();
  EXPECT_EQ(CoveredSql(rule), "true");
  rule.assumed_before = "2026-01-31 00:00:00+00";
  EXPECT_EQ(CoveredSql(rule), "true");
}

TEST(CoveredSqlTest, APartitionIsCoveredSinceItWasAttached) {
  CoveredRule rule = Born();
  rule.partition = 16400;
  for (const uint64_t from : {3, 745}) {
    rule.streamed_from = from;
    const std::string sql = CoveredSql(rule);
    EXPECT_THAT(sql, HasSubstr("pg_inherits"));
    EXPECT_THAT(sql, HasSubstr("16400::oid::regclass"));
    EXPECT_THAT(sql, HasSubstr("HAVING bool_or(i.inhrelid = 16400)"));
  }
}

TEST(CoveredSqlTest, P11ARowWhoseOriginIsNotKnownIsNotCovered) {
  CoveredRule rule = Born();
  rule.streamed_from = 3;
  rule.born_at = WallTime();
  rule.origin_is_unknown = "unknown";
  EXPECT_EQ(CoveredSql(rule), "NOT (unknown)");
  rule.assumed_before = "2026-01-31 00:00:00+00";
  EXPECT_THAT(CoveredSql(rule), HasSubstr("(NOT (unknown)) OR created_at <"));
}

TEST(CoveredSqlTest, TheOperatorsWordIsForRowsBeforeATimeOnly) {
  CoveredRule rule;
  rule.time_column = "created_at";
  rule.assumed_before = "2026-01-31 00:00:00+00";
  EXPECT_EQ(CoveredSql(rule),
            "(false) OR created_at < '2026-01-31 00:00:00+00'::timestamptz");
}

TEST(PruneSqlTest, PublishedIsWhatTheStateColumnSays) {
  RowStateOptions state;
  state.published_at = "done";
  EXPECT_EQ(PublishedSql(state, "'PUBLISHED'"), "\"done\" IS NOT NULL");
  state.status = "State";
  EXPECT_EQ(PublishedSql(state, "'PUBLISHED'"), "\"State\" = 'PUBLISHED'");
}

TEST(PruneSqlTest, AMarkTwoBillionTransactionsOldAllowsNothing) {
  EXPECT_THAT(CommittedBeforeSql("4294967999"),
              HasSubstr("age('4294967999'::xid8::xid) >= 0 AND ("));
}

// ---- The statements, whole: what they leave out is deleted, or stays.

TEST(PruneSqlTest, P11ABatchDeletesTheRowsThatItHasChosen) {
  EXPECT_EQ(DeleteBatchSql(Rule(), "2026-01-30 12:00:00+00", 10), OneLine(R"(
      WITH batch AS MATERIALIZED (SELECT ctid AS place, created_at AS time
        FROM ONLY "app"."outbox" o
        WHERE created_at >= '2026-01-30 12:00:00+00'::timestamptz
        AND created_at < '2026-01-31 00:00:00+00'::timestamptz
        AND (sent OR old) ORDER BY created_at LIMIT 10),
      gone AS (DELETE FROM ONLY "app"."outbox" AS old USING batch
        WHERE old.ctid = batch.place RETURNING batch.time)
      SELECT count(*), max(time)::text FROM gone)"));
}

TEST(PruneSqlTest, P11OldRowsAreCountedAsSentNotSentAndNotCovered) {
  PruneRule rule = Rule();
  rule.covered = "through OR assumed";
  EXPECT_EQ(CountOldSql(rule), OneLine(R"(
      SELECT count(*) FILTER (WHERE sent OR old),
      count(*) FILTER (WHERE (sent OR old) IS NOT TRUE),
      count(*) FILTER (WHERE (through OR assumed) IS NOT TRUE)
      FROM ONLY "app"."outbox" o
      WHERE created_at < '2026-01-31 00:00:00+00'::timestamptz)"));
  EXPECT_EQ(CountUnsentSql(rule), OneLine(R"(
      SELECT count(*) FILTER (WHERE sent OR old),
      count(*) FILTER (WHERE (sent OR old) IS NOT TRUE),
      count(*) FILTER (WHERE (through OR assumed) IS NOT TRUE)
      FROM "app"."outbox" o)"));
  EXPECT_EQ(UnsentInPagesSql(rule, 0, 5), OneLine(R"(
      SELECT EXISTS (SELECT FROM "app"."outbox" o
      WHERE ctid >= '(0,0)' AND ctid < '(5,0)'
      AND (sent OR old) IS NOT TRUE))"));
}

// Older than the oldest that was running, so it had ended; a row that seems
// younger than now is two billion transactions old.
TEST(PruneSqlTest, P11ARowOfTheOldestRunningTransactionIsNotCommittedBefore) {
  EXPECT_EQ(CommittedBeforeSql("745"), OneLine(R"(
      age('745'::xid8::xid) >= 0 AND
      (age(xmin) > age('745'::xid8::xid) OR age(xmin) < 0))"));
}

// With `next` for the next transaction id.
std::string Covered(const CoveredRule& rule) {
  constexpr std::string_view kNext =
      "(SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint)";
  std::string sql = CoveredSql(rule);
  for (size_t at; (at = sql.find(kNext)) != std::string::npos;) {
    sql.replace(at, kNext.size(), "next");
  }
  return sql;
}

TEST(CoveredSqlTest, P11ARowIsAsYoungAsTheFirstThatTheSlotHasSent) {
  CoveredRule rule = Born();
  rule.born_at = WallTime();
  EXPECT_EQ(Covered(rule), OneLine(R"(
      xmin::text::bigint >= 3 AND
      ((next - xmin::text::bigint) & 4294967295) <= next - 745)"));
  rule.streamed_from = 4;  // 3 is the first transaction of a server
  EXPECT_THAT(Covered(rule), HasSubstr(" <= next - 4"));
}

TEST(CoveredSqlTest, P11ARowOfAPartitionIsYoungerThanEachOfItsLinks) {
  CoveredRule rule = Born();
  rule.streamed_from = 3;
  rule.born_at = WallTime();
  rule.partition = 16400;
  EXPECT_EQ(Covered(rule), OneLine(R"(
      ((next - xmin::text::bigint) & 4294967295) <
      (SELECT min(((next - i.xmin::text::bigint) & 4294967295))
       FROM pg_catalog.pg_inherits i WHERE i.inhrelid IN
       (SELECT pg_catalog.pg_partition_ancestors(16400::oid::regclass) UNION
        SELECT relid FROM pg_catalog.pg_partition_tree(16400::oid::regclass))
       HAVING bool_or(i.inhrelid = 16400))
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i
       JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
       JOIN pg_catalog.pg_type t ON t.oid = c.reltype
       WHERE i.inhrelid = 16400 AND i.xmin <> t.xmin
       AND ((next - i.xmin::text::bigint) & 4294967295) <= next - 3)
      AND coalesce(((next - xmin::text::bigint) & 4294967295) <
       (SELECT ((next - c.xmin::text::bigint) & 4294967295)
        FROM pg_catalog.pg_class c WHERE c.oid = 16400 AND
        c.relfilenode <> c.oid), true))"));
}

}  // namespace
}  // namespace walpost
