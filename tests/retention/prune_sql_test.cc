#include "retention/prune_sql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

}  // namespace
}  // namespace walpost
