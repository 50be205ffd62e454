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
