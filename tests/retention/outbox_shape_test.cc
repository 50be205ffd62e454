#include "retention/outbox_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

#include "support/fake_postgres.h"

namespace walpost {
namespace {

using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kShape[] = "c.relkind = 'p'";
constexpr char kLeaves[] = "= 'DEFAULT'";
const std::optional<std::string> kNull;

std::vector<std::string> Names(const std::vector<OutboxShape::Leaf>& leaves) {
  std::vector<std::string> names;
  for (const OutboxShape::Leaf& leaf : leaves) names.push_back(leaf.name);
  return names;
}

class OutboxShapeTest : public ::testing::Test {
 protected:
  OutboxShapeTest() { table_.name = "app.outbox"; }

  absl::StatusOr<OutboxShape> Read(SentProof proof = SentProof::kSlot) {
    return Await(context_, ReadOutboxShape(*connection_, table_, proof,
                                           "2026-01-31 00:00:00+00"));
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
  TableOptions table_;
};

TEST_F(OutboxShapeTest, APlainTableIsItsOwnLeaf) {
  server_.Answer(kShape, {{"f", "outbox", kNull, "created_at", "add"}});
  server_.Answer(kLeaves,
                 {{"app.outbox", kNull, kNull, "t", "16400", "f", "f"}});
  const auto shape = Read();
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->table, "\"app\".\"outbox\"");
  EXPECT_EQ(shape->time_column, "created_at");
  EXPECT_FALSE(shape->time_has_zone);
  EXPECT_FALSE(shape->has_time_partitions);
  EXPECT_EQ(shape->add_partitions, "") << "it has no days";
  ASSERT_THAT(Names(shape->leaves), ElementsAre("app.outbox"));
  EXPECT_EQ(shape->leaves[0].oid, 16400u);
  EXPECT_FALSE(shape->leaves[0].is_partition);
  EXPECT_TRUE(shape->leaves[0].is_quick);
  EXPECT_THAT(shape->past, IsEmpty());
}

// Those of today and later are neither dropped nor searched.
TEST_F(OutboxShapeTest, P11OnlyPartitionsThatEndBeforeTheLimitArePast) {
  server_.Answer(kShape, {{"t", "outbox", "at", "created_at", "add"}});
  server_.Answer(kLeaves, {{"a", "f", "t", "t", "1", "t", "t"},
                           {"b", "f", "t", "f", "2", "t", "t"},
                           {"c", "f", "f", "t", "3", "t", "t"},
                           {"rest", "t", kNull, "t", "4", "t", "t"}});
  const auto shape = Read();
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_TRUE(shape->has_time_partitions);
  EXPECT_EQ(shape->time_column, "at");
  EXPECT_EQ(shape->add_partitions, "add");
  EXPECT_THAT(Names(shape->past), ElementsAre("a", "b"));
  EXPECT_THAT(Names(shape->leaves), ElementsAre("rest"));
  EXPECT_TRUE(shape->past[1].is_partition);
  const std::string sql = server_.StatementsWith(kLeaves).at(0);
  EXPECT_THAT(sql, HasSubstr("[1]::timestamptz <= '2026-01-31 00:00:00+00'"));
}

TEST_F(OutboxShapeTest, OtherPartitionsAreSearchedOneByOne) {
  server_.Answer(kShape, {{"t", "outbox", kNull, "created_at", kNull}});
  server_.Answer(kLeaves, {{"a", "f", kNull, "t", "1", "t", "t"},
                           {"b", "t", kNull, "t", "2", "t", "t"}});
  const auto shape = Read();
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_THAT(Names(shape->leaves), ElementsAre("a", "b"));
  EXPECT_THAT(shape->past, IsEmpty());
}

// A row is as old as its publication, if that is marked.
TEST_F(OutboxShapeTest, TheTimeIsThatOfTheStateOrTheMappingOrTheUsualColumn) {
  table_.state.published_at = "done";
  table_.columns.timestamp = {FieldSource::Kind::kColumn, "at"};
  server_.Answer(kShape, {{"f", "outbox", kNull, "done", kNull}});
  server_.Answer(kLeaves, {{"o", kNull, kNull, "t", "1", "f", "t"}});
  ASSERT_TRUE(Read(SentProof::kState).ok());
  ASSERT_TRUE(Read(SentProof::kSlot).ok());
  const auto shapes = server_.StatementsWith(kShape);
  EXPECT_THAT(shapes[0], HasSubstr("ARRAY['done', 'at', 'created_at']"));
  EXPECT_THAT(shapes[1], HasSubstr("ARRAY['at', 'created_at']"));
}

// The rows that it does not have are not sent, and old ones must be found.
TEST_F(OutboxShapeTest, APartialIndexServesOnlyRowsWithAState) {
  server_.Answer(kShape, {{"f", "outbox", kNull, "created_at", kNull}});
  server_.Answer(kLeaves, {{"o", kNull, kNull, "t", "1", "f", "t"}});
  ASSERT_TRUE(Read(SentProof::kState).ok());
  ASSERT_TRUE(Read(SentProof::kSlot).ok());
  const auto leaves = server_.StatementsWith(kLeaves);
  EXPECT_THAT(leaves[0], HasSubstr("i.indisvalid AND true"));
  EXPECT_THAT(leaves[1], HasSubstr("i.indisvalid AND i.indpred IS NULL"));
}

TEST_F(OutboxShapeTest, ATableWithoutATimeOrThatDoesNotExistIsRefused) {
  server_.Answer(kShape, {{"f", "outbox", kNull, kNull, kNull}});
  EXPECT_TRUE(absl::IsFailedPrecondition(Read().status()));
  server_.Answer(kShape, {});
  const absl::Status missing = Read().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(missing));
  EXPECT_THAT(std::string(missing.message()),
              HasSubstr("table app.outbox does not exist"));
}

}  // namespace
}  // namespace walpost
