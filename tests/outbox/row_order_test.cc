#include "outbox/row_order.h"

#include <gtest/gtest.h>

#include "pgoutput/type_oid.h"

namespace walpost {
namespace {

using Kind = RowOrder::Kind;

constexpr uint32_t kUuidOid = 2950;

const OrderColumn kUuidId = {"id", kUuidOid};
const OrderColumn kCreatedAt = {"created_at", pgoutput::kTimestamptzOid};

std::string Order(const TableOptions& table,
                  const std::vector<OrderColumn>& columns,
                  const std::string& named = "") {
  const auto order = ChooseRowOrder(table, columns, named);
  return order.ok() ? OrderBySql(*order) : "";
}

TEST(RowOrderTest, TakesWhatFollowsTheCommitsBest) {
  TableOptions table;
  const OrderColumn counter = {"seq", pgoutput::kInt8Oid, true};
  const OrderColumn number = {"version", pgoutput::kInt8Oid};
  const OrderColumn transaction = {"tx", kTransactionIdOid};
  EXPECT_EQ(Order(table, {{"id", pgoutput::kInt8Oid}, counter, kCreatedAt}),
            "\"id\"");
  EXPECT_EQ(Order(table, {kUuidId, number, counter, kCreatedAt}),
            "\"seq\", concat(\"id\")");
  EXPECT_EQ(Order(table, {kUuidId, number, kCreatedAt}),
            "\"created_at\", age(xmin) DESC, cmin::text::bigint, ctid, "
            "concat(\"id\")");
  table.state.transaction_id = "tx";
  EXPECT_EQ(Order(table, {kUuidId, transaction, kCreatedAt}),
            "\"tx\", age(xmin) DESC, cmin::text::bigint, ctid, concat(\"id\")");
}

TEST(RowOrderTest, TakesTheMappedTimeBeforeTheUsualOne) {
  TableOptions table;
  table.columns.timestamp = {FieldSource::Kind::kColumn, "made_ms"};
  const auto order = ChooseRowOrder(
      table, {kUuidId, kCreatedAt, {"made_ms", pgoutput::kInt8Oid}}, "");
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(order->column, "made_ms");
  EXPECT_EQ(order->kind, Kind::kTime);
}

TEST(RowOrderTest, RefusesAUuidUnlessItIsNamed) {
  const TableOptions table;
  const auto refused = ChooseRowOrder(table, {kUuidId, {"payload", 114}}, "");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  for (const char* way_out : {"--order-by", "outbox.tables.order_by"}) {
    EXPECT_NE(std::string(refused.status().message()).find(way_out),
              std::string::npos);
  }
  const auto advised =
      ChooseRowOrder(table, {kUuidId, {"sequence", pgoutput::kInt8Oid}}, "");
  EXPECT_NE(
      std::string(advised.status().message()).find("as --order-by sequence or"),
      std::string::npos);
  EXPECT_EQ(ChooseRowOrder(table, {kUuidId}, "id")->column, "id");
  TableOptions configured;
  configured.order_by = "id";
  EXPECT_EQ(ChooseRowOrder(configured, {kUuidId}, "")->column, "id");
}

TEST(RowOrderTest, RefusesAColumnThatIsNotThere) {
  const TableOptions table;
  const auto refused = ChooseRowOrder(table, {kUuidId}, "nowhere");
  EXPECT_NE(std::string(refused.status().message()).find("nowhere"),
            std::string::npos);
}

TEST(RowOrderTest, TheNamedColumnGoesBeforeTheConfiguredOne) {
  TableOptions table;
  table.order_by = "created_at";
  const std::vector<OrderColumn> columns = {
      kUuidId, {"seq", pgoutput::kInt8Oid}, kCreatedAt};
  EXPECT_EQ(ChooseRowOrder(table, columns, "seq")->column, "seq");
  EXPECT_EQ(ChooseRowOrder(table, columns, "")->column, "created_at");
}

}  // namespace
}  // namespace walpost
