#include "verify/expectation_query.h"

#include <algorithm>
#include <array>

#include "base/status_macros.h"
#include "base/xid.h"
#include "fmt/format.h"
#include "outbox/base_types.h"
#include "outbox/row_order.h"
#include "outbox/row_origin.h"
#include "pgoutput/type_oid.h"
#include "verify/json_form.h"
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
          if (Find(name) != nullptr) return Column(name);
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
    const ColumnType* found = Find(name);
    if (found == nullptr) {
      return absl::InvalidArgumentError(
          fmt::format("table {} has no column '{}': correct outbox.tables or "
                      "--sequence",
                      table_.name, name));
    }
    if (found->is_bytea) return QuotedName(name);
    if (!found->casts_to_output) return OutputTextSql(QuotedName(name));
    return QuotedName(name) + "::text COLLATE \"C\"";
  }

  // The column of a field; nullptr: none is mapped to it.
  const ColumnType* FieldColumn(const FieldSource& source,
                                const std::vector<std::string>& usual) const {
    if (source.kind == FieldSource::Kind::kColumn) return Find(source.text);
    if (source.kind != FieldSource::Kind::kUsual) return nullptr;
    for (const std::string& name : usual) {
      if (const ColumnType* column = Find(name)) return column;
    }
    return nullptr;
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

  // The values of a topic template, each after a comma.
  absl::StatusOr<std::string> References(const TopicTemplate& topic) const {
    std::string list;
    for (const std::string& name : topic.references()) {
      WALPOST_ASSIGN_OR_RETURN(const std::string value, Reference(name));
      list += ", " + value;
    }
    return list;
  }

  static constexpr const char* kNull = "NULL::text";

 private:
  const ColumnType* Find(const std::string& name) const {
    const auto found = std::ranges::find(columns_, name, &ColumnType::name);
    return found == columns_.end() ? nullptr : &*found;
  }

  const TableOptions& table_;
  const std::vector<ColumnType>& columns_;
};

constexpr char kWritten[] =
    "(pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::"
    "bigint - age(xmin))";

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
  if (by.delivered_before > 0) {
    sql += fmt::format(" OR {} < {}", kWritten, by.delivered_before);
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

// Whether a row's event was to be sent. That is not known of a slot without a
// record of its birth.
std::string CameThrough(const TableOptions& table, const ConfirmedBy& by) {
  if (by.kind != ConfirmedBy::Kind::kSlot) return "true";
  const auto added = by.added.find(table.name);
  const uint64_t from =
      added == by.added.end() ? by.streamed_from : added->second;
  if (from <= kFirstTransaction) return from == 0 ? "false" : "true";
  return fmt::format("{} >= {}", kWritten, from);
}

// Whether Debezium's connector makes of it what its output function does.
bool RemainsText(const ColumnType* column) {
  if (column == nullptr || column->has_default) return false;
  constexpr std::array<uint32_t, 8> kTypes = {
      pgoutput::kTextOid, pgoutput::kVarcharOid, pgoutput::kUuidOid,
      pgoutput::kJsonOid, pgoutput::kJsonbOid,   pgoutput::kInt2Oid,
      pgoutput::kInt4Oid, pgoutput::kInt8Oid};
  return std::ranges::find(kTypes, column->type_oid) != kTypes.end();
}

bool HasEnvelope(const debezium::Options& options) {
  return std::ranges::any_of(
      options.placements, [](const debezium::Placement& placement) {
        return placement.place == debezium::Placement::Place::kEnvelope;
      });
}

std::vector<OrderColumn> OrderColumnsOf(
    const std::vector<ColumnType>& columns) {
  std::vector<OrderColumn> order;
  for (const ColumnType& column : columns) {
    order.push_back({column.name, column.type_oid, column.counts});
  }
  return order;
}

// As the mapper reads it; empty: it is not mapped.
std::string TimeSql(const FieldSource& source,
                    const std::vector<ColumnType>& columns) {
  if (source.kind != FieldSource::Kind::kColumn) return "";
  const auto found = std::ranges::find(columns, source.text, &ColumnType::name);
  if (found == columns.end()) return "";
  const std::string name = QuotedName(source.text);
  if (pgoutput::IsInteger(found->type_oid)) {
    return fmt::format("to_timestamp({} / 1000.0)", name);
  }
  return name + "::timestamptz";  // TimeZone is UTC
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
    const ConfirmedBy& confirmed_by, OriginFilter origin,
    ComparedAs compared_as) {
  const Expressions expressions(table, columns);
  WALPOST_ASSIGN_OR_RETURN(
      TopicTemplate topic,
      TopicTemplate::Parse(TopicTemplateOf(table, route), route.names));
  ExpectationQuery query(std::move(topic));
  WALPOST_ASSIGN_OR_RETURN(const std::string id,
                           expressions.Field(table.columns.id, {"id"}));
  if (id == Expressions::kNull) {
    return absl::InvalidArgumentError(
        fmt::format("table {} has no column for the event id, by which rows "
                    "and records are matched: set outbox.tables.columns.id",
                    table.name));
  }
  WALPOST_ASSIGN_OR_RETURN(const std::string topic_values,
                           expressions.References(query.topic_));
  const FieldSource& key_source = table.columns.aggregate_id;
  const std::vector<std::string> key_names = {"aggregate_id", "aggregateid"};
  const FieldSource& value_source = table.columns.payload;
  const std::vector<std::string> value_names = {"payload"};
  WALPOST_ASSIGN_OR_RETURN(const std::string key,
                           expressions.Field(key_source, key_names));
  WALPOST_ASSIGN_OR_RETURN(const std::string value,
                           expressions.Field(value_source, value_names));
  query.knows_value_ = table.value_columns.empty();
  if (table.debezium != nullptr) {
    const bool as_json = compared_as == ComparedAs::kJson;
    const ColumnType* key_column =
        expressions.FieldColumn(key_source, key_names);
    query.knows_key_ = as_json && RemainsText(key_column);
    query.keeps_bytes_of_key_ = RemainsText(key_column) &&
                                JsonForm::OfKeys(*table.debezium).keeps_bytes();
    query.knows_value_ =
        as_json &&
        RemainsText(expressions.FieldColumn(value_source, value_names)) &&
        !HasEnvelope(*table.debezium);
  }
  query.value_sql_ = value;
  query.key_sql_ = key;
  query.time_sql_ = TimeSql(table.columns.timestamp, columns);
  query.topic_values_ = topic_values;
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
  const auto id_found =
      std::ranges::find(columns, id_column, &ColumnType::name);
  query.has_bytea_ids_ = id_found != columns.end() && id_found->is_bytea;
  const std::string from = QuotedTableName(table.name);
  query.from_ = from;
  query.sql_ = fmt::format(
      "SELECT {}, {}, {}, {}, coalesce({}, false)::text, {}, {}::text, "
      "({})::text, ({})::text{} FROM {}",
      id, key, value, sequence, Confirmed(table, id_column, confirmed_by),
      place, kWritten, CameThrough(table, confirmed_by),
      origin == OriginFilter::kAny ? "false" : IsOfOtherOriginSql(from),
      topic_values, from);
  query.topics_sql_ =
      fmt::format("SELECT DISTINCT true::text{} FROM {}", topic_values, from);
  query.lookup_sql_ =
      fmt::format("SELECT {0}{1} FROM {2} WHERE {0} = ANY ($1::{3}[])", id,
                  topic_values, from, query.has_bytea_ids_ ? "bytea" : "text");
  return query;
}

std::string ExpectationQuery::GroupedSql(const std::string& aggregate,
                                         const std::string& where) const {
  std::string sql = fmt::format("SELECT ({})::text{} FROM {}", aggregate,
                                topic_values_, from_);
  if (!where.empty()) sql += " WHERE " + where;
  const size_t values = topic_.references().size();
  for (size_t i = 0; i < values; ++i) {
    sql += fmt::format("{}{}", i == 0 ? " GROUP BY " : ", ", i + 2);
  }
  return sql;
}

}  // namespace walpost
