#include "outbox/row_origin.h"

#include "base/sql_name.h"
#include "fmt/format.h"

namespace walpost {

// Where the setting is off, the function is an error.
std::string IsOfOtherOriginSql(std::string_view table) {
  return fmt::format(
      "CASE WHEN pg_catalog.current_setting('track_commit_timestamp')::boolean "
      "THEN (SELECT CASE WHEN written.roident = 0 THEN false WHEN "
      "written.roident > 0 AND NOT EXISTS (SELECT FROM "
      "pg_catalog.pg_replication_origin own WHERE own.roident = "
      "written.roident AND own.roname LIKE '{0}%') AND (SELECT coalesce(sum("
      "pg_catalog.pg_stat_get_tuples_updated(relid)), 0) FROM (SELECT relid "
      "FROM pg_catalog.pg_partition_tree({1}::regclass) UNION SELECT "
      "{1}::regclass) tree) = 0 THEN true END FROM "
      "pg_catalog.pg_xact_commit_timestamp_origin(xmin) written) END",
      kOwnOriginPrefix, QuoteText(table));
}

RowOrigin RowOriginOf(std::optional<std::string_view> text) {
  if (!text) return RowOrigin::kUnknown;
  return text->starts_with('t') ? RowOrigin::kOther : RowOrigin::kOwn;
}

}  // namespace walpost
