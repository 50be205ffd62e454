#include "polling/cursor_sql.h"

#include "fmt/format.h"
#include "polling/table_sql.h"
#include "postgres/catalog/table_rows.h"
#include "postgres/catalog/table_script.h"
#include "postgres/connect/quote.h"
#include "walpost_sql.h"

namespace walpost {
namespace {

constexpr std::string_view kDefaultTable = "public.walpost_cursor";

std::string Text(const std::optional<int64_t>& place) {
  return place ? std::to_string(*place) : "NULL";
}

std::string Xid8(uint64_t xid) { return fmt::format("'{}'::xid8", xid); }

}  // namespace

CursorSql::CursorSql(const PolledTable& table, std::string_view cursor_table,
                     Quote quote)
    : table_name_(table.name()),
      name_(QuoteQualifiedName(table.name())),
      cursor_table_(QuoteQualifiedName(cursor_table)),
      create_table_(ScriptForTable(kSql_cursor, kDefaultTable, cursor_table)),
      columns_(ColumnList(table.schema, "o.")),
      id_("o." + QuoteName(table.id)),
      age_(AgeSql(table, "o")),
      place_("o." + QuoteName(table.order)),
      transaction_id_("o." + QuoteName(table.state.transaction_id)),
      quote_(std::move(quote)) {}

std::string CursorSql::CreateTable() const { return create_table_; }

std::string GrantCursorTableSql(std::string_view cursor_table,
                                std::string_view role) {
  return fmt::format(
      "{} {}",
      OneLine(ScriptForTable(kSql_cursor, kDefaultTable, cursor_table)),
      GrantOnTableSql("SELECT, INSERT, UPDATE", cursor_table, role));
}

std::string CursorSql::TryLock() const {
  return fmt::format(
      "SELECT pg_try_advisory_lock(hashtext('walpost'), hashtext({}))",
      quote_(cursor_table_ + table_name_));
}

std::string CursorSql::Load() const {
  return fmt::format(
      "SELECT system_identifier, window_from, window_to, last_place, "
      "highest_place, floor_place FROM {} WHERE outbox_table = {}",
      cursor_table_, quote_(table_name_));
}

std::string CursorSql::Save(const CursorPosition& position) const {
  return fmt::format(
      "INSERT INTO {} VALUES ({}, {}, {}, {}, {}, {}, {}) ON CONFLICT "
      "(outbox_table) DO UPDATE SET system_identifier = "
      "excluded.system_identifier, window_from = excluded.window_from, "
      "window_to = excluded.window_to, last_place = excluded.last_place, "
      "highest_place = excluded.highest_place, floor_place = "
      "excluded.floor_place, updated_at = now()",
      cursor_table_, quote_(table_name_), quote_(position.system_identifier),
      Xid8(position.window_from), Xid8(position.window_to),
      Text(position.last_place), Text(position.highest_place),
      Text(position.floor_place));
}

std::string CursorSql::Now() const {
  return fmt::format(
      "SELECT (SELECT system_identifier FROM pg_control_system()), "
      "pg_snapshot_xmin(now), pg_snapshot_xmax(now), (SELECT max({}) FROM {} o "
      "WHERE {} >= pg_snapshot_xmax(now)) FROM pg_current_snapshot() now",
      place_, name_, transaction_id_);
}

std::string CursorSql::Fetch(const CursorPosition& position,
                             size_t limit) const {
  const std::string window =
      fmt::format("{0} >= {1} AND {0} < {2}", transaction_id_,
                  Xid8(position.window_from), Xid8(position.window_to));
  std::string above;
  for (const auto& place : {position.last_place, position.floor_place}) {
    if (place) above += fmt::format(" AND {} > {}", place_, *place);
  }
  if (position.last_place || position.window_from == 0) {
    // Most rows from here on belong to it: read in the order of their places.
    return fmt::format(
        "SELECT {} FROM {} o WHERE ({}) IS TRUE{} ORDER BY {} LIMIT {}",
        columns_, name_, window, above, place_, limit);
  }
  // It may lie anywhere: finds its places by its transactions, and sorts them.
  return fmt::format(
      "SELECT {0} FROM {1} o WHERE {2} = ANY (ARRAY(SELECT {2} FROM {1} o "
      "WHERE "
      "{3}{4} ORDER BY {2} + 0 LIMIT {5})) ORDER BY {2}",
      columns_, name_, place_, window, above, limit);
}

// Rows that a position has not reached, by its transaction ids.
std::string CursorSql::Unreached(const CursorPosition& position) const {
  std::string unreached =
      fmt::format("{} >= {}", transaction_id_, Xid8(position.window_from));
  if (position.last_place) {
    unreached +=
        fmt::format(" AND ({} >= {} OR {} > {})", transaction_id_,
                    Xid8(position.window_to), place_, *position.last_place);
  }
  if (position.floor_place) {
    unreached += fmt::format(" AND {} > {}", place_, *position.floor_place);
  }
  return unreached;
}

std::string CursorSql::Passed(const CursorPosition& position) const {
  return fmt::format("NOT ({})", Unreached(position));
}

std::string CursorSql::FetchRestored(const CursorPosition& old,
                                     const ServerTime& now,
                                     std::optional<int64_t> after,
                                     size_t limit) const {
  std::string ended = fmt::format("{} < {}", transaction_id_, Xid8(now.xmin));
  if (now.highest_foreign_place) {
    ended += fmt::format(" OR ({} >= {} AND {} <= {})", transaction_id_,
                         Xid8(now.xmin), place_, *now.highest_foreign_place);
  }
  std::string wanted = Unreached(old);
  if (old.highest_place) {
    wanted += fmt::format(" OR {} > {}", place_, *old.highest_place);
  }
  std::string behind;
  if (after) behind = fmt::format(" AND {} > {}", place_, *after);
  return fmt::format(
      "SELECT {} FROM {} o WHERE ({}) AND ({}){} ORDER BY {} LIMIT {}",
      columns_, name_, ended, wanted, behind, place_, limit);
}

std::string CursorSql::Gauges(const CursorPosition& position) const {
  const std::string unreached = Unreached(position);
  return fmt::format(
      "SELECT (SELECT count(*) FROM (SELECT FROM {0} o WHERE {1} LIMIT {2}) "
      "c), 0, first.id, first.age FROM (SELECT) one LEFT JOIN LATERAL "
      "(SELECT {3} AS id, {4} AS age FROM {0} o WHERE {1} ORDER BY {5}, {6} "
      "LIMIT 1) first ON true",
      name_, unreached, TableSql::kMaxCounted, id_, age_, transaction_id_,
      place_);
}

}  // namespace walpost
