// Which rows a cursor reads, and which it has passed: a bound that is off by
// one loses an event, or deletes it unsent. So the statements are here whole.
#include "polling/cursor_sql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "pgoutput/type_oid.h"
#include "support/one_line.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::OneLine;
using ::testing::StartsWith;

PolledTable Table() {
  PolledTable table;
  table.schema.schema = "public";
  table.schema.name = "outbox";
  table.schema.columns = {{"id", pgoutput::kInt8Oid},
                          {"at", pgoutput::kTimestamptzOid}};
  table.id = "id";
  table.order = "seq";
  table.timestamp = "at";
  table.state.transaction_id = "tx";
  return table;
}

class CursorSqlTest : public ::testing::Test {
 protected:
  CursorSqlTest() {
    position_.system_identifier = "77";
    position_.window_from = 10;
    position_.window_to = 20;
  }

  static std::string Quote(std::string_view text) {
    return "'" + std::string(text) + "'";
  }

  CursorSql sql_{Table(), "app.cursor", Quote};
  CursorPosition position_;
};

TEST_F(CursorSqlTest, P1AWindowIsReadFromItsFirstToBeforeItsLastTransaction) {
  position_.window_from = 0;
  EXPECT_EQ(sql_.Fetch(position_, 5), OneLine(R"(
      SELECT o."id", o."at" FROM "public"."outbox" o
      WHERE (o."tx" >= '0'::xid8 AND o."tx" < '20'::xid8) IS TRUE
      ORDER BY o."seq" LIMIT 5)"));
}

TEST_F(CursorSqlTest, P1AWindowContinuesBehindItsLastPlace) {
  position_.last_place = 7;
  position_.floor_place = 3;
  EXPECT_EQ(sql_.Fetch(position_, 5), OneLine(R"(
      SELECT o."id", o."at" FROM "public"."outbox" o
      WHERE (o."tx" >= '10'::xid8 AND o."tx" < '20'::xid8) IS TRUE
      AND o."seq" > 7 AND o."seq" > 3
      ORDER BY o."seq" LIMIT 5)"));
}

// Its first rows are found by their transactions, and come in order.
TEST_F(CursorSqlTest, P1ALaterWindowBeginsWithItsLowestPlaces) {
  position_.floor_place = 3;
  EXPECT_EQ(sql_.Fetch(position_, 5), OneLine(R"(
      SELECT o."id", o."at" FROM "public"."outbox" o
      WHERE o."seq" = ANY (ARRAY(SELECT o."seq" FROM "public"."outbox" o
        WHERE o."tx" >= '10'::xid8 AND o."tx" < '20'::xid8 AND o."seq" > 3
        ORDER BY o."seq" + 0 LIMIT 5))
      ORDER BY o."seq")"));
}

TEST_F(CursorSqlTest, P11ARowIsPassedIfItsTransactionOrItsPlaceIs) {
  EXPECT_EQ(sql_.Passed(position_), R"(NOT (o."tx" >= '10'::xid8))");
  position_.last_place = 7;
  EXPECT_EQ(sql_.Passed(position_), OneLine(R"(
      NOT (o."tx" >= '10'::xid8 AND
      (o."tx" >= '20'::xid8 OR o."seq" > 7)))"));
  position_.floor_place = 3;
  EXPECT_EQ(sql_.Passed(position_), OneLine(R"(
      NOT (o."tx" >= '10'::xid8 AND
      (o."tx" >= '20'::xid8 OR o."seq" > 7) AND o."seq" > 3))"));
}

ServerTime Now() {
  ServerTime now;
  now.xmin = 500;
  now.xmax = 600;
  return now;
}

TEST_F(CursorSqlTest, P1AfterARestoreRowsThatWereNotReachedAreRead) {
  EXPECT_EQ(sql_.FetchRestored(position_, Now(), std::nullopt, 5), OneLine(R"(
      SELECT o."id", o."at" FROM "public"."outbox" o
      WHERE (o."tx" < '500'::xid8) AND (o."tx" >= '10'::xid8)
      ORDER BY o."seq" LIMIT 5)"));
}

TEST_F(CursorSqlTest, P1AfterARestoreRowsAboveTheHighestPlaceAreReadToo) {
  ServerTime now = Now();
  now.highest_foreign_place = 90;
  position_.highest_place = 40;
  EXPECT_EQ(sql_.FetchRestored(position_, now, 60, 5), OneLine(R"(
      SELECT o."id", o."at" FROM "public"."outbox" o
      WHERE (o."tx" < '500'::xid8 OR
             (o."tx" >= '500'::xid8 AND o."seq" <= 90))
      AND (o."tx" >= '10'::xid8 OR o."seq" > 40)
      AND o."seq" > 60
      ORDER BY o."seq" LIMIT 5)"));
}

TEST_F(CursorSqlTest, P1NowIsOneSnapshot) {
  EXPECT_EQ(sql_.Now(), OneLine(R"(
      SELECT (SELECT system_identifier FROM pg_control_system()),
      pg_snapshot_xmin(now), pg_snapshot_xmax(now),
      (SELECT max(o."seq") FROM "public"."outbox" o
       WHERE o."tx" >= pg_snapshot_xmax(now))
      FROM pg_current_snapshot() now)"));
}

TEST_F(CursorSqlTest, APositionIsStoredInTheOrderThatItIsLoaded) {
  position_.last_place = 7;
  position_.highest_place = 40;
  const std::string save = sql_.Save(position_);
  EXPECT_THAT(save, StartsWith("INSERT INTO \"app\".\"cursor\" VALUES "
                               "('public.outbox', '77', '10'::xid8, "
                               "'20'::xid8, 7, 40, NULL) ON CONFLICT"));
  for (const char* column : {"system_identifier", "window_from", "window_to",
                             "last_place", "highest_place", "floor_place"}) {
    EXPECT_THAT(save, HasSubstr(std::string(column) + " = excluded." + column));
  }
  EXPECT_EQ(sql_.Load(), OneLine(R"(
      SELECT system_identifier, window_from, window_to, last_place,
      highest_place, floor_place FROM "app"."cursor"
      WHERE outbox_table = 'public.outbox')"));
}

TEST_F(CursorSqlTest, TwoTablesOrTwoCursorTablesDoNotShareALock) {
  EXPECT_THAT(sql_.TryLock(),
              HasSubstr("hashtext('\"app\".\"cursor\"public.outbox'"));
}

TEST_F(CursorSqlTest, TheTableIsMadeUnderItsConfiguredName) {
  EXPECT_THAT(sql_.CreateTable(), HasSubstr("\"app\".\"cursor\""));
  EXPECT_THAT(sql_.CreateTable(), Not(HasSubstr("public.walpost_cursor")));
}

TEST_F(CursorSqlTest, TheGaugesCountWhatTheCursorHasNotReached) {
  position_.last_place = 7;
  const std::string unreached = OneLine(R"(
      WHERE o."tx" >= '10'::xid8 AND
      (o."tx" >= '20'::xid8 OR o."seq" > 7))");
  const std::string gauges = sql_.Gauges(position_);
  EXPECT_THAT(gauges, HasSubstr("(SELECT FROM \"public\".\"outbox\" o " +
                                unreached + " LIMIT 100000)"));
  EXPECT_THAT(gauges,
              HasSubstr("AS age FROM \"public\".\"outbox\" o " + unreached +
                        " ORDER BY o.\"tx\", o.\"seq\" "
                        "LIMIT 1"));
}

}  // namespace
}  // namespace walpost
