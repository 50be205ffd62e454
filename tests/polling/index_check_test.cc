// Which indexes a polled table lacks, for each strategy.
#include "polling/index_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "pgoutput/type_oid.h"
#include "support/fake_postgres.h"

namespace walpost {
namespace {

using testing::Await;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Strategy = PollingOptions::Strategy;

const std::optional<std::string> kNull;

class IndexCheckTest : public ::testing::Test {
 protected:
  IndexCheckTest() {
    options_.name = "app.outbox";
    options_.order_by = "seq";
  }

  // Each index: first column, predicate, is unique.
  Findings Check(Strategy strategy, FakePostgres::Rows indexes,
                 bool is_partitioned = false) {
    pgoutput::RelationSchema schema;
    schema.schema = "app";
    schema.name = "outbox";
    schema.columns = {{"id", 25},
                      {"seq", pgoutput::kInt8Oid},
                      {"aggregate_type", 25},
                      {"payload", 25}};
    const auto table = MakePolledTable(options_, schema);
    EXPECT_TRUE(table.ok()) << table.status();
    server_.Answer("pg_get_expr", std::move(indexes));
    const auto read =
        Await(context_, TableIndexes::Read(*connection_, "app.outbox"));
    EXPECT_TRUE(read.ok()) << read.status();
    IndexCheck check(
        *table, strategy, is_partitioned,
        [](std::string_view text) { return "'" + std::string(text) + "'"; });
    return check.Run(*read);
  }
  std::string First(Strategy strategy, FakePostgres::Rows indexes,
                    bool is_partitioned = false) {
    const Findings found = Check(strategy, std::move(indexes), is_partitioned);
    return found.empty() ? ""
                         : found[0].id.text() + ": " + found[0].text + " | " +
                               found[0].remedy;
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
  TableOptions options_;
};

TEST_F(IndexCheckTest, RowsAreMarkedByAUniqueIndex) {
  const FakePostgres::Row seq = {"seq", kNull, "t"};
  EXPECT_THAT(Check(Strategy::kDelete, {{"id", kNull, "t"}, seq}), IsEmpty());
  EXPECT_THAT(First(Strategy::kDelete, {{"id", "(x > 1)", "f"}, seq}),
              HasSubstr("id_index_missing: has no index on id, by which rows "
                        "are marked | CREATE "
                        "UNIQUE INDEX CONCURRENTLY ON"));
  const Findings found = Check(Strategy::kDelete, {{"id", kNull, "f"}, seq});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].id, FindingId("id_not_unique"));
  EXPECT_THAT(Check(Strategy::kDelete, {{"id", kNull, "f"}, seq}, true),
              IsEmpty());
}

TEST_F(IndexCheckTest, ACursorNeedsAUniqueOrder) {
  options_.state.transaction_id = "tx";
  const FakePostgres::Row id = {"id", kNull, "t"};
  const FakePostgres::Row tx = {"tx", kNull, "f"};
  EXPECT_THAT(Check(Strategy::kCursor, {id, tx, {"seq", kNull, "t"}}),
              IsEmpty());
  EXPECT_THAT(First(Strategy::kCursor, {id, tx, {"seq", kNull, "f"}}),
              HasSubstr("order_not_unique: has no unique index on seq"));
  EXPECT_THAT(First(Strategy::kCursor, {id, {"seq", kNull, "t"}}),
              HasSubstr("transaction_id_index_missing: has no index on tx"));
  EXPECT_THAT(First(Strategy::kCursor, {id, tx, {"seq", kNull, "t"}}, true),
              HasSubstr("order_not_unique_across_partitions: has partitions"));
}

TEST_F(IndexCheckTest, PendingRowsNeedAnIndexOfTheirState) {
  options_.state.status = "status";
  const FakePostgres::Row id = {"id", kNull, "t"};
  const auto first = [&](const FakePostgres::Row& index) {
    return First(Strategy::kClaim, {id, index});
  };
  EXPECT_EQ(first({"status", kNull, "f"}), "");
  EXPECT_EQ(first({"seq", "(status <> 'published'::text)", "f"}), "");
  EXPECT_THAT(first({"seq", "(status = 'published'::text)", "f"}),
              HasSubstr("pending_index_missing: has no index of pending rows"));
  EXPECT_THAT(first({"seq", kNull, "f"}),
              HasSubstr("pending_index_missing: has no index of pending"));
  EXPECT_THAT(first({"seq", "(status <> 'pending'::text)", "f"}),
              HasSubstr("pending_index_missing: has no index of pending rows"));
}

TEST_F(IndexCheckTest, APublicationTimeMayBeTheState) {
  options_.state.published_at = "done";
  const FakePostgres::Row id = {"id", kNull, "t"};
  EXPECT_EQ(First(Strategy::kClaim, {id, {"seq", "(done IS NULL)", "f"}}), "");
  EXPECT_THAT(First(Strategy::kClaim, {id, {"seq", "(done IS NOT NULL)", "f"}}),
              HasSubstr("pending_index_missing: has no index of pending rows"));
}

TEST_F(IndexCheckTest, HeldAndRefusedRowsNeedTheirsOnlyIfThereAreSome) {
  options_.state.status = "status";
  options_.state.locked_until = "lock";
  options_.state.next_attempt_at = "again";
  options_.state.processing = "";
  const FakePostgres::Rows enough = {{"id", kNull, "t"},
                                     {"status", kNull, "f"},
                                     {"lock", "(lock IS NOT NULL)", "f"},
                                     {"again", "(again IS NOT NULL)", "f"}};
  EXPECT_THAT(Check(Strategy::kClaim, enough), IsEmpty());
  FakePostgres::Rows less = enough;
  less.erase(less.begin() + 2);
  EXPECT_THAT(First(Strategy::kClaim, less),
              HasSubstr("lease_index_missing: has no index on lock"));
  less = enough;
  less.pop_back();
  EXPECT_THAT(First(Strategy::kClaim, less),
              HasSubstr("next_attempt_index_missing: has no index on again"));
}

TEST_F(IndexCheckTest, AConditionOfAnotherColumnFindsNotAllThatAreSet) {
  const auto finds = [this](const std::string& predicate) {
    server_.Answer("pg_get_expr", {{"lock", predicate, "f"}});
    const auto read =
        Await(context_, TableIndexes::Read(*connection_, "app.outbox"));
    return read->FindWhereSet("lock");
  };
  EXPECT_TRUE(finds("(lock IS NOT NULL)"));
  EXPECT_TRUE(finds("((lock IS NOT NULL) OR (x > 1))"));
  EXPECT_FALSE(finds("((lock IS NOT NULL) AND (x > 1))"));
  EXPECT_FALSE(finds("(NOT (lock IS NOT NULL))"));
  EXPECT_FALSE(finds("(x > 1)"));
}

}  // namespace
}  // namespace walpost
