// Rows that no slot sends: counted, or reported as unknown; never forgotten.
#include "postgres/catalog/existing_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "postgres/catalog/column_order.h"
#include "postgres/catalog/matching_tables.h"
#include "postgres/catalog/partition_monitor.h"
#include "support/fake_postgres.h"

namespace walpost {
namespace {

using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kEstimate[] = "sum(greatest(reltuples";
constexpr char kCount[] = ") existing";
constexpr char kLeaves[] = "pg_partition_tree(outbox.relation)";

class ExistingRowsTest : public ::testing::Test {
 protected:
  ExistingRowsTest() {
    server_.Answer(kEstimate, {{"700"}});
    server_.Answer(kCount, {{"3"}});
  }

  absl::StatusOr<std::vector<ExistingRows>> Count(
      uint64_t streamed_from, std::vector<std::string> tables = {"app.a"}) {
    return Await(context_,
                 CountExistingRows(*connection_, tables, streamed_from));
  }
  absl::StatusOr<std::optional<Finding>> Look(PartitionMonitor& monitor) {
    return Await(context_, monitor.Look(*connection_));
  }
  // oid, name, attaching transaction and command, was made in it.
  static FakePostgres::Row Leaf(const std::string& oid, const std::string& name,
                                const std::string& xmin,
                                const std::string& was_made_with_it) {
    return {oid, name, xmin, "9", was_made_with_it};
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
};

TEST_F(ExistingRowsTest, CountsEachTable) {
  server_.AnswerInTurn(kEstimate, {{{"700"}}, {{"800"}}});
  server_.AnswerInTurn(kCount, {{{"3"}}, {{"4"}}});
  const auto rows = Count(0, {"app.a", "app.b"});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_THAT(*rows, SizeIs(2));
  EXPECT_EQ(rows->at(0).table, "app.a");
  EXPECT_EQ(rows->at(0).count, 3u);
  EXPECT_EQ(rows->at(0).estimate, 700u);
  EXPECT_EQ(rows->at(1).table, "app.b");
  EXPECT_EQ(rows->at(1).count, 4u);
  EXPECT_EQ(rows->at(1).estimate, 800u);
  const auto counts = server_.StatementsWith(kCount);
  EXPECT_THAT(counts[0],
              HasSubstr("FROM \"app\".\"a\" WHERE true LIMIT 100001"));
  EXPECT_THAT(counts[1], HasSubstr("FROM \"app\".\"b\""));
  EXPECT_THAT(server_.statements().back(), HasSubstr("ROLLBACK"));
}

// An xid8 has an epoch; xmin has none.
TEST_F(ExistingRowsTest, P11RowsOfEarlierTransactionsAreMeant) {
  ASSERT_TRUE(Count((uint64_t{3} << 32) + 745).ok());
  EXPECT_THAT(server_.StatementsWith(kCount)[0],
              HasSubstr("pg_catalog.age(xmin) < 0 OR pg_catalog.age(xmin) > "
                        "pg_catalog.age('745'::xid)"));
}

TEST_F(ExistingRowsTest, P8WhatCannotBeCountedIsUnknownAndTheOthersCount) {
  server_.Fail("FROM \"app\".\"a\"", "57014", "canceled");
  server_.Fail("FROM \"app\".\"b\"", "42P01", "does not exist");
  const auto rows = Count(0, {"app.a", "app.b", "app.c"});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->at(0).count, std::nullopt);
  EXPECT_FALSE(rows->at(0).is_missing);
  EXPECT_THAT(rows->at(0).trouble, HasSubstr("canceled"));
  EXPECT_EQ(rows->at(0).estimate, 700u);
  EXPECT_TRUE(rows->at(1).is_missing);
  EXPECT_EQ(rows->at(1).count, 0u);
  EXPECT_EQ(rows->at(2).count, 3u);
  EXPECT_THAT(server_.StatementsWith("ROLLBACK TO SAVEPOINT"), SizeIs(3));
  server_.Drop("FROM \"app\".\"a\"");
  EXPECT_FALSE(Count(0).ok());
}

TEST_F(ExistingRowsTest, SaysWhatIsKnownOfTheNumber) {
  const auto text = [](std::optional<uint64_t> count, uint64_t estimate) {
    ExistingRows rows;
    rows.count = count;
    rows.estimate = estimate;
    return rows.ToString();
  };
  EXPECT_EQ(text(1, 9), "1 row");
  EXPECT_EQ(text(999, 9), "999 rows");
  EXPECT_EQ(text(100'000, 9), "100,000 rows");
  EXPECT_EQ(text(100'001, 1'234'567),
            "more than 100,000 rows (about 1,234,567 by the statistics)");
  EXPECT_EQ(text(std::nullopt, 0), "an unknown number of rows");
  EXPECT_EQ(text(std::nullopt, 20), "about 20 rows by the statistics");
}

// The first pass knows nothing of what was there before walpost.
TEST_F(ExistingRowsTest, P9APartitionThatHadRowsIsReportedOnce) {
  server_.Answer(kLeaves, {Leaf("1", "app.old", "700", "t"),
                           Leaf("2", "app.moved", "701", "f")});
  PartitionMonitor monitor({TableOptions()});
  const auto found = Look(monitor);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->severity, Severity::kWarning);
  EXPECT_EQ((*found)->id, FindingId("partition_rows_unpublished"));
  EXPECT_EQ((*found)->subject, "partition app.moved");
  EXPECT_THAT((*found)->text, HasSubstr("had 3 rows when it was attached"));
  EXPECT_THAT(server_.StatementsWith(kCount),
              ElementsAre(HasSubstr("xmin = '701'::xid AND "
                                    "cmin::text::bigint < 9")));
  EXPECT_FALSE(monitor.is_through());
  EXPECT_FALSE(Look(monitor)->has_value());
  EXPECT_TRUE(monitor.is_through());
  EXPECT_THAT(server_.StatementsWith(kCount), SizeIs(1));
}

TEST_F(ExistingRowsTest, P9LaterPartitionsAreLookedAtWhoeverMadeThem) {
  server_.Answer(kLeaves, {Leaf("1", "app.old", "700", "t")});
  PartitionMonitor monitor({TableOptions()});
  ASSERT_FALSE(Look(monitor)->has_value());
  server_.Answer(kLeaves, {Leaf("1", "app.old", "700", "t"),
                           Leaf("3", "app.new", "702", "t")});
  EXPECT_TRUE(Look(monitor)->has_value());
  server_.Answer(kLeaves, {Leaf("1", "app.old", "703", "f")});
  EXPECT_TRUE(Look(monitor)->has_value()) << "it was attached again";
  server_.Answer(kLeaves, {Leaf("4", "app.empty", "704", "f")});
  server_.Answer(kCount, {{"0"}});
  EXPECT_FALSE(Look(monitor)->has_value());
}

TEST_F(ExistingRowsTest, P8APartitionThatCannotBeCountedIsReportedToo) {
  server_.Answer(kLeaves, {Leaf("2", "app.moved", "701", "f")});
  PartitionMonitor monitor({TableOptions()});
  server_.Drop(kCount);
  EXPECT_FALSE(Look(monitor).ok());
  connection_ = testing::Connect(context_, server_);
  server_.Fail(kCount, "57014", "canceled");
  const auto found = Look(monitor);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->has_value()) << "the next connection asks again";
  EXPECT_THAT((*found)->text, HasSubstr("cannot be known"));
  EXPECT_THAT((*found)->text, HasSubstr("canceled"));
}

TEST_F(ExistingRowsTest, NamesOfOtherTables) {
  server_.Answer("LIMIT 100000", {{"app.a"}, {"app.b"}, {"app.c"}});
  OutboxOptions outbox;
  outbox.tables.resize(1);
  outbox.tables[0].name = "app.b";
  EXPECT_THAT(*Await(context_, ReadTableNames(*connection_, outbox)),
              ElementsAre("app.a", "app.c"));
}

TEST_F(ExistingRowsTest, ATypeThatCannotBeComparedIsNoError) {
  const auto can = [this](Comparison comparison) {
    return Await(context_, CanCompare(*connection_, "json", comparison));
  };
  server_.Answer("SELECT c FROM", {});
  EXPECT_TRUE(*can(Comparison::kOrder));
  EXPECT_THAT(server_.statements().back(), HasSubstr("c < c ORDER BY"));
  EXPECT_TRUE(*can(Comparison::kEquality));
  EXPECT_THAT(server_.statements().back(), HasSubstr("c = c GROUP BY"));
  server_.Fail("SELECT c FROM", "42883", "no operator");
  EXPECT_FALSE(*can(Comparison::kOrder));
  server_.Fail("SELECT c FROM", "57014", "canceled");
  EXPECT_FALSE(can(Comparison::kOrder).ok());
  server_.Answer("atttypmod", {{"json"}});
  EXPECT_EQ(*Await(context_, ReadTypeOf(*connection_, "app.a", "c")), "json");
  server_.Answer("atttypmod", {});
  EXPECT_EQ(*Await(context_, ReadTypeOf(*connection_, "app.a", "c")), "");
}

}  // namespace
}  // namespace walpost
