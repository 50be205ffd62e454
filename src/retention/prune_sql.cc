#include "retention/prune_sql.h"

#include "fmt/format.h"
#include "postgres/publication.h"

namespace walpost {

std::string CommittedBeforeSql(std::string_view oldest_running) {
  // A mark two billion transactions old would be taken for a young one.
  return fmt::format(
      "age('{0}'::xid8::xid) >= 0 AND "
      "(age(xmin) > age('{0}'::xid8::xid) OR age(xmin) < 0)",
      oldest_running);
}

std::string PublishedSql(const RowStateOptions& state,
                         const std::string& published_literal) {
  if (!state.status.empty()) {
    return fmt::format("{} = {}", QuoteName(state.status), published_literal);
  }
  return fmt::format("{} IS NOT NULL", QuoteName(state.published_at));
}

std::string DeleteBatchSql(const PruneRule& rule, std::string_view from,
                           size_t rows) {
  const std::string begin =
      from.empty()
          ? ""
          : fmt::format("{} >= '{}'::timestamptz AND ", rule.time_column, from);
  return fmt::format(
      "WITH batch AS MATERIALIZED (SELECT ctid AS place, {1} AS time "
      "FROM ONLY {0} o WHERE {2}{1} < '{3}'::timestamptz AND ({4}) "
      "ORDER BY {1} LIMIT {5}), "
      "gone AS (DELETE FROM ONLY {0} AS old USING batch "
      "WHERE old.ctid = batch.place RETURNING batch.time) "
      "SELECT count(*), max(time)::text FROM gone",
      rule.table, rule.time_column, begin, rule.limit, rule.sent, rows);
}

std::string CountOldSql(const PruneRule& rule) {
  return fmt::format(
      "SELECT count(*) FILTER (WHERE {0}), "
      "count(*) FILTER (WHERE ({0}) IS NOT TRUE) "
      "FROM ONLY {1} o WHERE {2} < '{3}'::timestamptz",
      rule.sent, rule.table, rule.time_column, rule.limit);
}

}  // namespace walpost
