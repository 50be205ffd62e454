#include "postgres/catalog/matching_tables.h"

#include <algorithm>
#include <utility>

#include "base/finding_id.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/table_pattern.h"
#include "postgres/connect/relation_oid.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

std::string MatchesSql(Connection& connection, const OutboxOptions& outbox) {
  std::string condition;
  for (const TableOptions& entry : outbox.patterns) {
    const LikeParts like = ToLike(entry.name);
    condition += fmt::format("{}(n.nspname LIKE {} AND c.relname LIKE {})",
                             condition.empty() ? "" : " OR ",
                             connection.Literal(like.schema),
                             connection.Literal(like.table));
  }
  return condition;
}

}  // namespace

asio::awaitable<absl::StatusOr<std::vector<MatchingTable>>> FindMatchingTables(
    Connection& connection, std::string publication,
    const OutboxOptions& outbox) {
  std::vector<MatchingTable> found;
  if (outbox.patterns.empty()) co_return found;
  const std::string sql = fmt::format(
      "WITH {} SELECT n.nspname || '.' || c.relname, (n.nspname || '.' || "
      "c.relname IN (SELECT schemaname || '.' || tablename FROM "
      "pg_catalog.pg_publication_tables WHERE pubname = {})) IS TRUE, "
      "strpos(n.nspname, '.') > 0, format('%I.%I', n.nspname, c.relname) FROM "
      "pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = "
      "c.relnamespace WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition "
      "AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' "
      "AND ({}) AND NOT (n.nspname || '.' || c.relname IN (SELECT name FROM "
      "tables)) IS TRUE ORDER BY 1",
      TablesSql(connection, outbox.tables), connection.Literal(publication),
      MatchesSql(connection, outbox));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows.Bool(i, 2)) {
      co_return WithFindingId(
          absl::FailedPreconditionError(fmt::format(
              "table {} matches outbox.tables, and its schema has a dot in its "
              "name, which schema.table cannot express: rename the schema, or "
              "use patterns that do not match it",
              rows.Text(i, 3))),
          FindingId("schema_name_with_dot"));
    }
    found.push_back({rows.Text(i, 0), rows.Bool(i, 1)});
  }
  co_return found;
}

asio::awaitable<absl::StatusOr<std::vector<bool>>> FindExistingTables(
    Connection& connection, const OutboxOptions& outbox) {
  const std::string sql = fmt::format(
      "WITH {} SELECT number FROM tables WHERE relation IS NOT NULL",
      TablesSql(connection, outbox.tables));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  std::vector<bool> exists(outbox.tables.size());
  for (size_t i = 0; i < rows.size(); ++i) exists[rows.Unsigned(i, 0)] = true;
  co_return exists;
}

asio::awaitable<absl::Status> ExpandPatterns(Connection& connection,
                                             OutboxOptions& outbox) {
  std::string publication;
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<MatchingTable> found,
      co_await FindMatchingTables(connection, std::move(publication), outbox));
  std::vector<std::string> names;
  for (const MatchingTable& table : found) names.push_back(table.name);
  co_return AddByPattern(outbox, names);
}

asio::awaitable<absl::StatusOr<std::vector<std::string>>> ReadTableNames(
    Connection& connection, const OutboxOptions& outbox) {
  const std::string sql =
      "SELECT n.nspname || '.' || c.relname FROM pg_catalog.pg_class c JOIN "
      "pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN "
      "('r', 'p') AND NOT c.relispartition AND n.nspname NOT LIKE 'pg\\_%' AND "
      "n.nspname <> 'information_schema' ORDER BY 1 LIMIT 100000";
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  std::vector<std::string> names;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string name = rows.Text(i, 0);
    const bool is_listed =
        std::ranges::count(outbox.tables, name, &TableOptions::name) > 0;
    if (!is_listed) names.push_back(name);
  }
  co_return names;
}

}  // namespace walpost
