// Which rows are read, for verify, recover and replay: the second of two
// filters, tables or columns counts as much as the first.
#include "postgres/tables/table_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

#include "postgres/tables/since.h"
#include "support/fake_postgres.h"

namespace walpost {
namespace {

using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;

constexpr char kSchema[] = "format_type(a.atttypid";
constexpr char kOrder[] = "a.attidentity";

class TableScanTest : public ::testing::Test {
 protected:
  TableScanTest() {
    table_.name = "app.outbox";
    server_.Answer(kSchema, {{"0", "id", "2950", "", "", ""},
                             {"0", "aggregate_id", "25", "", "", ""},
                             {"0", "created_at", "1184", "", "", ""},
                             {"0", "tx", "5069", "", "", ""}});
    server_.Answer(kOrder, {{"id", "2950", "f"}, {"created_at", "1184", "f"}});
  }

  absl::Status Open() {
    scan_.emplace(*connection_, table_, filter_);
    return Await(context_, scan_->Open());
  }

  // From the table's name to the order.
  std::string Selected() {
    const absl::Status status = Open();
    EXPECT_TRUE(status.ok()) << status;
    const std::string& sql = server_.statements().back();
    const size_t from = sql.find(" FROM ") + 6;
    return sql.substr(from, sql.find(" ORDER BY ") - from);
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
  TableOptions table_;
  TableFilter filter_;
  std::optional<TableScan> scan_;
};

TEST_F(TableScanTest, ReadsTheWholeTableInOrder) {
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(
      server_.statements(),
      ElementsAre(HasSubstr("ARRAY['app.outbox']"),
                  HasSubstr("'\"app\".\"outbox\"'::regclass"),
                  "SET LOCAL row_security = off",
                  "DECLARE walpost_scan NO SCROLL CURSOR FOR SELECT \"id\", "
                  "\"aggregate_id\", \"created_at\", \"tx\" FROM "
                  "\"app\".\"outbox\" ORDER BY \"created_at\", age(xmin) DESC, "
                  "cmin::text::bigint, ctid, concat(\"id\")"));
}

TEST_F(TableScanTest, EachFilterIsAConditionOfItsOwn) {
  table_.state.transaction_id = "tx";
  filter_.ids = {"a", "it's"};
  filter_.aggregate_id = "o-1";
  filter_.from_transaction = 745;
  filter_.where = "a OR b";
  EXPECT_EQ(Selected(),
            "\"app\".\"outbox\" WHERE \"id\" IN ('a', 'it''s') AND "
            "\"aggregate_id\" IN ('o-1') AND CASE WHEN "
            "pg_catalog.num_nulls(\"aggregate_id\") = 0 THEN "
            "pg_catalog.concat(\"aggregate_id\") COLLATE \"C\" END IN ('o-1') "
            "AND (\"tx\" >= '745'::xid8 OR "
            "\"tx\" IS NULL) AND (a OR b)");
}

// An id of another table must not fail the scan of this one.
TEST_F(TableScanTest, IdsOfSeveralTablesAreComparedWhereTheyFit) {
  const std::string uuid = "4d47e190-0402-4048-bc2c-89dd54343cdc";
  filter_.ids = {"17", uuid, "x"};
  filter_.has_ids_of_others = true;
  EXPECT_EQ(Selected(), "\"app\".\"outbox\" WHERE \"id\" IN ('" + uuid + "')");
  server_.Answer(kSchema, {{"0", "id", "20", "", "", ""},
                           {"0", "created_at", "1184", "", "", ""}});
  EXPECT_EQ(Selected(), "\"app\".\"outbox\" WHERE \"id\" IN ('17')");
  server_.Answer(kSchema, {{"0", "id", "25", "", "", ""},
                           {"0", "created_at", "1184", "", "", ""}});
  EXPECT_THAT(Selected(), HasSubstr("IN ('17', '" + uuid + "', 'x')"));
  server_.Answer(kSchema, {{"0", "id", "2950", "", "", ""},
                           {"0", "created_at", "1184", "", "", ""}});
  filter_.ids = {"17"};
  EXPECT_EQ(Selected(), "\"app\".\"outbox\" WHERE false");
}

TEST_F(TableScanTest, ATimeIncludesItsFirstMoment) {
  filter_.since = "2026-01-31";
  EXPECT_EQ(Selected(), "\"app\".\"outbox\" WHERE \"created_at\" >= " +
                            SinceSql(*connection_, "2026-01-31"));
}

TEST_F(TableScanTest, ATimeInMillisecondsIsComparedAsSuch) {
  server_.Answer(kSchema, {{"0", "id", "2950", "", "", ""},
                           {"0", "at", "20", "", "", ""}});
  server_.Answer(kOrder, {{"id", "2950", "f"}, {"at", "20", "f"}});
  table_.columns.timestamp = {FieldSource::Kind::kColumn, "at"};
  filter_.since = "1h";
  EXPECT_EQ(Selected(),
            "\"app\".\"outbox\" WHERE \"at\" >= (extract(epoch FROM " +
                SinceSql(*connection_, "1h") + ") * 1000)::bigint");
}

// A row without an id may belong to any transaction.
TEST_F(TableScanTest, OnlyATableThatSaysWhoInsertedARowHasItsTransactions) {
  filter_.from_transaction = 745;
  EXPECT_EQ(Selected(), "\"app\".\"outbox\"");
  table_.state.transaction_id = "id";
  EXPECT_TRUE(absl::IsFailedPrecondition(Open())) << "it is a uuid";
  table_.state.transaction_id = "missing";
  EXPECT_TRUE(absl::IsFailedPrecondition(Open()));
}

TEST_F(TableScanTest, AFilterWithoutItsColumnIsRefused) {
  server_.Answer(kSchema, {{"0", "key", "25", "", "", ""}});
  filter_.ids = {"a"};
  const absl::Status status = Open();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("no column for id, which --ids needs"));
}

TEST_F(TableScanTest, RowsHiddenByAPolicyAreAnError) {
  server_.Fail("row_security", "42501", "policy");
  EXPECT_FALSE(Open().ok());
}

TEST_F(TableScanTest, ReadsPortionsUntilOneIsEmpty) {
  server_.AnswerInTurn(
      "FETCH", {{{"1", "k", std::nullopt, "5"}, {"2", "", "t", "6"}}, {}});
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(*Await(context_, scan_->Fetch()), 2u);
  std::vector<std::string> values;
  scan_->Row(1).ForEach([&](size_t, const pgoutput::ColumnValue& value) {
    values.emplace_back(value.is_null() ? "NULL" : value.bytes);
  });
  EXPECT_THAT(values, ElementsAre("2", "", "t", "6"));
  values.clear();
  scan_->Row(0).ForEach([&](size_t, const pgoutput::ColumnValue& value) {
    values.emplace_back(value.is_null() ? "NULL" : value.bytes);
  });
  EXPECT_THAT(values, ElementsAre("1", "k", "NULL", "5"));
  EXPECT_EQ(*Await(context_, scan_->Fetch()), 0u);
}

TEST_F(TableScanTest, CountsWhatItReads) {
  filter_.where = "a";
  server_.Answer("SELECT count(*) FROM \"app\".\"outbox\" WHERE (a)", {{"7"}});
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(*Await(context_, scan_->Count()), 7u);
}

}  // namespace
}  // namespace walpost
