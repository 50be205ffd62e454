#include "outbox/row_order.h"

#include <algorithm>
#include <string_view>

#include "fmt/format.h"
#include "outbox/field_column.h"
#include "pgoutput/type_oid.h"

namespace walpost {
namespace {

using Kind = RowOrder::Kind;

constexpr char kUsualTime[] = "created_at";

std::string Quoted(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += c;
    quoted += c;
  }
  return quoted + "\"";
}

pgoutput::RelationSchema SchemaOf(const std::vector<OrderColumn>& columns) {
  pgoutput::RelationSchema schema;
  for (const OrderColumn& column : columns) {
    schema.columns.push_back({column.name, column.type_oid});
  }
  return schema;
}

bool IsTime(uint32_t type_oid) {
  return pgoutput::IsTimestamp(type_oid) || pgoutput::IsInteger(type_oid);
}

}  // namespace

absl::StatusOr<RowOrder> ChooseRowOrder(const TableOptions& table,
                                        const std::vector<OrderColumn>& columns,
                                        const std::string& named) {
  const pgoutput::RelationSchema schema = SchemaOf(columns);
  const auto find = [&](const std::string& name) -> const OrderColumn* {
    const auto found = std::ranges::find(columns, name, &OrderColumn::name);
    return found == columns.end() ? nullptr : &*found;
  };
  const std::string id = ColumnOfField(table, schema, "id").value_or("");
  const auto order = [&](Kind kind, const std::string& column) {
    return RowOrder{kind, column, column == id ? "" : id};
  };
  const std::string& wanted = named.empty() ? table.order_by : named;
  if (!wanted.empty()) {
    if (find(wanted) != nullptr) return order(Kind::kNamed, wanted);
    return absl::FailedPreconditionError(
        fmt::format("table {} has no column {}: correct --order-by, or "
                    "outbox.tables.order_by",
                    table.name, wanted));
  }
  const OrderColumn* id_column = find(id);
  if (id_column != nullptr && pgoutput::IsInteger(id_column->type_oid)) {
    return order(Kind::kCounter, id);
  }
  const auto counter = std::ranges::find_if(columns, &OrderColumn::counts);
  if (counter != columns.end()) return order(Kind::kCounter, counter->name);
  const OrderColumn* transaction = find(table.state.transaction_id);
  if (transaction != nullptr && transaction->type_oid == kTransactionIdOid) {
    return order(Kind::kTransaction, transaction->name);
  }
  const OrderColumn* time =
      find(ColumnOfField(table, schema, "timestamp").value_or(kUsualTime));
  if (time != nullptr && IsTime(time->type_oid)) {
    return order(Kind::kTime, time->name);
  }
  const auto integer = std::ranges::find_if(columns, pgoutput::IsInteger,
                                            &OrderColumn::type_oid);
  const std::string example =
      integer == columns.end() ? "COLUMN" : integer->name;
  return absl::FailedPreconditionError(fmt::format(
      "table {} has no column that gives the order of its rows{}: name one "
      "that rises with the commits of a key, as --order-by {} or as "
      "outbox.tables.order_by in the configuration",
      table.name,
      id.empty() ? ""
                 : fmt::format(" (the id {} is neither an integer nor a "
                               "sequence, so sorting by it would shuffle the "
                               "events of a key)",
                               id),
      example));
}

std::string OrderBySql(const RowOrder& order) {
  std::string sql = Quoted(order.column);
  if (order.kind != Kind::kCounter) {
    sql += ", age(xmin) DESC, cmin::text::bigint, ctid";
  }
  // As text: not every type has an order.
  if (!order.id_column.empty()) {
    sql += fmt::format(", concat({})", Quoted(order.id_column));
  }
  return sql;
}

}  // namespace walpost
