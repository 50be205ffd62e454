#include "verify/expectation_query.h"

#include <algorithm>

#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/xid.h"
#include "fmt/format.h"
#include "outbox/row_order.h"
#include "pgoutput/type_oid.h"
#include "verify/topic_prefixes.h"

namespace walpost {
namespace {

std::string Doubled(const std::string& text, char quote) {
  std::string quoted(1, quote);
  for (const char c : text) {
    if (c == quote) quoted += c;
    quoted += c;
  }
  return quoted + quote;
}

class Expressions {
 public:
  Expressions(const TableOptions& table, const std::vector<ColumnType>& columns)
      : table_(table), columns_(columns) {}

  // Expression for a field; "NULL::text": nothing is mapped to it.
  absl::StatusOr<std::string> Field(const FieldSource& source,
                                    std::vector<std::string> usual) const {
    switch (source.kind) {
      case FieldSource::Kind::kUsual:
        for (const std::string& name : usual) {
          if (Has(name)) return Column(name);
        }
        return std::string(kNull);
      case FieldSource::Kind::kColumn:
        return Column(source.text);
      case FieldSource::Kind::kConstant:
        return QuotedLiteral(source.text) + "::text";
      case FieldSource::Kind::kAbsent:
        return std::string(kNull);
    }
    return std::string(kNull);
  }

  absl::StatusOr<std::string> Column(const std::string& name) const {
    const auto found = std::ranges::find(columns_, name, &ColumnType::name);
    if (found == columns_.end()) {
      return absl::InvalidArgumentError(
          fmt::format("table {} has no column '{}': correct outbox.tables or "
                      "--sequence",
                      table_.name, name));
    }
    return found->is_bytea ? QuotedName(name) : QuotedName(name) + "::text";
  }

  // A name in a topic template: a field first, then a column.
  absl::StatusOr<std::string> Reference(const std::string& name) const {
    const FieldSources& fields = table_.columns;
    absl::StatusOr<std::string> field = std::string(kNull);
    if (name == "id") field = Field(fields.id, {"id"});
    if (name == "type") field = Field(fields.type, {"type", "event_type"});
    if (name == "aggregate_type") {
      field = Field(fields.aggregate_type, {"aggregate_type", "aggregatetype"});
    }
    if (name == "aggregate_id") {
      field = Field(fields.aggregate_id, {"aggregate_id", "aggregateid"});
    }
    if (name == "payload") field = Field(fields.payload, {"payload"});
    if (field.ok() && *field == kNull) return Column(name);
    return field;
  }

  // text{name|function:argument}text... as an expression; NULL if one of its
  // values is.
  absl::StatusOr<std::string> Topic(const std::string& text) const {
    std::string expression = "''";
    std::string rest = text;
    while (!rest.empty()) {
      const size_t open = std::min(rest.find('{'), rest.size());
      expression += " || " + QuotedLiteral(rest.substr(0, open));
      const size_t close = rest.find('}', open);
      if (close == std::string::npos) break;
      const std::vector<std::string> words =
          absl::StrSplit(rest.substr(open + 1, close - open - 1), '|');
      WALPOST_ASSIGN_OR_RETURN(std::string value, Reference(words.front()));
      for (size_t i = 1; i < words.size(); ++i) {
        const std::vector<std::string> call = absl::StrSplit(words[i], ':');
        if (call.front() == "lower") {
          value = fmt::format("lower({})", value);
        } else if (call.front() == "default") {
          value = fmt::format("coalesce(nullif({}, ''), {})", value,
                              QuotedLiteral(call.back()));
        } else if (call.size() == 3) {
          value = fmt::format("replace({}, {}, {})", value,
                              QuotedLiteral(call[1]), QuotedLiteral(call[2]));
        }
      }
      expression += " || " + value;
      rest.erase(0, close + 1);
    }
    return expression;
  }

  static constexpr const char* kNull = "NULL::text";

 private:
  bool Has(const std::string& name) const {
    return std::ranges::find(columns_, name, &ColumnType::name) !=
           columns_.end();
  }

  const TableOptions& table_;
  const std::vector<ColumnType>& columns_;
};

// A row that is older than the oldest transaction that the slot still has to
// decode was confirmed. A row that is older than the slot never comes through
// it. (32-bit transaction ids can be compared over a distance of 2^31.)
std::string ConfirmedBySlot(const ConfirmedBy& by) {
  std::string sql = fmt::format(
      "age(xmin) > (SELECT age(catalog_xmin) FROM "
      "pg_catalog.pg_replication_slots WHERE slot_name = {})",
      QuotedLiteral(by.name));
  if (by.streamed_from > kFirstTransaction) {
    sql += fmt::format(
        " OR age(xmin) > age('{}'::xid) AND pg_catalog.pg_snapshot_xmax("
        "pg_catalog.pg_current_snapshot())::text::numeric - {} < 2147483648",
        by.streamed_from & 0xFFFFFFFF, by.streamed_from);
  }
  return sql;
}

std::string ConfirmedByState(const RowStateOptions& state) {
  if (!state.status.empty()) {
    return fmt::format("{} = {}", QuotedName(state.status),
                       QuotedLiteral(state.published));
  }
  if (state.published_at.empty()) return "false";  // it will be deleted
  return QuotedName(state.published_at) + " IS NOT NULL";
}

// See sql/cursor.sql.
std::string ConfirmedByCursor(const TableOptions& table,
                              const std::string& place,
                              const std::string& cursor_table) {
  return fmt::format(
      "(SELECT {0} < c.window_from OR {0} < c.window_to AND {1} <= "
      "c.last_place OR {1} <= c.floor_place FROM {2} AS c WHERE "
      "c.outbox_table = {3} AND c.system_identifier = (SELECT "
      "system_identifier::text FROM pg_catalog.pg_control_system()))",
      QuotedName(table.state.transaction_id), QuotedName(place),
      QuotedTableName(cursor_table), QuotedLiteral(table.name));
}

std::string Confirmed(const TableOptions& table, const std::string& id_column,
                      const ConfirmedBy& by) {
  switch (by.kind) {
    case ConfirmedBy::Kind::kSlot:
      return ConfirmedBySlot(by);
    case ConfirmedBy::Kind::kState:
      return ConfirmedByState(table.state);
    case ConfirmedBy::Kind::kCursor:
      return ConfirmedByCursor(
          table, table.order_by.empty() ? id_column : table.order_by, by.name);
  }
  return "false";
}

std::vector<OrderColumn> OrderColumnsOf(
    const std::vector<ColumnType>& columns) {
  std::vector<OrderColumn> order;
  for (const ColumnType& column : columns) {
    order.push_back({column.name, column.type_oid, column.counts});
  }
  return order;
}

// A row's place in the order of recover and the snapshot, as an integer; NULL
// if the column has no suitable type.
std::string PlaceSql(const std::string& column, uint32_t type_oid) {
  const std::string name = QuotedName(column);
  if (pgoutput::IsTimestamp(type_oid)) {
    return fmt::format(
        "CASE WHEN isfinite({0}) THEN (extract(epoch FROM {0}) * "
        "1000000)::bigint::text END",
        name);
  }
  if (pgoutput::IsInteger(type_oid) || type_oid == kTransactionIdOid) {
    return name + "::text";
  }
  return Expressions::kNull;
}

}  // namespace

std::string QuotedName(const std::string& name) { return Doubled(name, '"'); }

std::string QuotedLiteral(const std::string& text) {
  return Doubled(text, '\'');
}

std::string QuotedTableName(const std::string& name) {
  const size_t dot = name.find('.');
  return QuotedName(name.substr(0, dot)) + "." +
         QuotedName(name.substr(dot + 1));
}

absl::StatusOr<ExpectationQuery> ExpectationQuery::Create(
    const TableOptions& table, const RouteOptions& route,
    const std::vector<ColumnType>& columns, const std::string& sequence_column,
    const ConfirmedBy& confirmed_by) {
  const Expressions expressions(table, columns);
  ExpectationQuery query;
  WALPOST_ASSIGN_OR_RETURN(const std::string id,
                           expressions.Field(table.columns.id, {"id"}));
  if (id == Expressions::kNull) {
    return absl::InvalidArgumentError(
        fmt::format("table {} has no column for the event id, by which rows "
                    "and records are matched: set outbox.tables.columns.id",
                    table.name));
  }
  WALPOST_ASSIGN_OR_RETURN(const std::string topic,
                           expressions.Topic(TopicTemplateOf(table, route)));
  WALPOST_ASSIGN_OR_RETURN(const std::string key,
                           expressions.Field(table.columns.aggregate_id,
                                             {"aggregate_id", "aggregateid"}));
  WALPOST_ASSIGN_OR_RETURN(
      const std::string value,
      expressions.Field(table.columns.payload, {"payload"}));
  query.knows_value_ = table.value_columns.empty();
  std::string sequence = Expressions::kNull;
  if (!sequence_column.empty()) {
    WALPOST_ASSIGN_OR_RETURN(sequence, expressions.Column(sequence_column));
  }
  std::string place = Expressions::kNull;
  const std::vector<OrderColumn> order_columns = OrderColumnsOf(columns);
  const auto order = ChooseRowOrder(table, order_columns, "");
  if (order.ok()) {
    const auto column =
        std::ranges::find(order_columns, order->column, &OrderColumn::name);
    place = PlaceSql(order->column, column->type_oid);
    if (place != Expressions::kNull) query.row_order_ = order->column;
  }
  const std::string id_column =
      table.columns.id.kind == FieldSource::Kind::kColumn
          ? table.columns.id.text
          : "id";
  query.sql_ = fmt::format(
      "SELECT {}, {}, {}, {}, {}, coalesce({}, false)::text, {} FROM {}", id,
      topic, key, value, sequence, Confirmed(table, id_column, confirmed_by),
      place, QuotedTableName(table.name));
  query.topics_sql_ =
      fmt::format("SELECT DISTINCT {0} FROM {1} WHERE ({0}) IS NOT NULL", topic,
                  QuotedTableName(table.name));
  query.lookup_sql_ =
      fmt::format("SELECT {0}, {2} FROM {1} WHERE {0} = ANY ($1::text[])", id,
                  QuotedTableName(table.name), topic);
  return query;
}

}  // namespace walpost
