#include "polling/polled_table.h"

#include "fmt/format.h"
#include "outbox/field_column.h"
#include "pgoutput/type_oid.h"

namespace walpost {
namespace {

// Column for the age of a row; empty: none. Unlike a record's timestamp, it may
// be found by its usual name.
std::string ClockOf(const TableOptions& options,
                    const pgoutput::RelationSchema& schema) {
  constexpr const char* kUsual = "created_at";
  const auto mapped = ColumnOfField(options, schema, "timestamp");
  if (mapped) return *mapped;
  const auto usual = schema.FindColumn(kUsual);
  if (!usual) return "";
  const uint32_t type = schema.columns[*usual].type_oid;
  return pgoutput::IsTimestamp(type) ? kUsual : "";
}

}  // namespace

absl::StatusOr<PolledTable> MakePolledTable(
    const TableOptions& options, const pgoutput::RelationSchema& schema) {
  PolledTable table;
  table.schema = schema;
  table.state = options.state;
  const auto id = ColumnOfField(options, schema, "id");
  if (!id) {
    return absl::FailedPreconditionError(fmt::format(
        "table {} has no column for id, by which a poller knows its rows: set "
        "outbox.tables.columns.id",
        table.name()));
  }
  table.id = *id;
  table.order = options.order_by.empty() ? table.id : options.order_by;
  const auto order = schema.FindColumn(table.order);
  if (!order) {
    return absl::FailedPreconditionError(
        fmt::format("table {} has no column {}: correct outbox.tables.order_by",
                    table.name(), table.order));
  }
  table.timestamp = ClockOf(options, schema);
  table.order_has_ties =
      table.order != table.id &&
      (!pgoutput::IsInteger(schema.columns[*order].type_oid) ||
       table.order == table.timestamp);
  const auto aggregate_id = ColumnOfField(options, schema, "aggregate_id");
  if (!aggregate_id || *aggregate_id == table.id) return table;
  table.aggregate.push_back(*aggregate_id);
  if (const auto type = ColumnOfField(options, schema, "aggregate_type")) {
    if (*type != *aggregate_id) table.aggregate.push_back(*type);
  }
  return table;
}

}  // namespace walpost
