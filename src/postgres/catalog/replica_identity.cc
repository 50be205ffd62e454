#include "postgres/catalog/replica_identity.h"

#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/connect/relation_oid.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

// Tables whose ALTER TABLE is printed.
constexpr size_t kMaxNamedTables = 5;

// The table pg_class c has none: its rows cannot be changed if that is
// published.
constexpr std::string_view kHasNone =
    "c.relkind = 'r' AND c.relreplident <> 'f' AND NOT EXISTS (SELECT FROM "
    "pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisvalid AND CASE "
    "c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN "
    "i.indisreplident ELSE false END)";

constexpr std::string_view kNameSql =
    "pg_catalog.format('%I.%I', n.nspname, c.relname)";

std::string FullSql(std::string_view table) {
  return fmt::format("ALTER TABLE {} REPLICA IDENTITY FULL;", table);
}

}  // namespace

asio::awaitable<absl::StatusOr<Findings>> CheckReplicaIdentity(
    Connection& connection, std::string table, RowChange change,
    std::string needed_for, Severity severity) {
  const bool is_delete = change == RowChange::kDelete;
  const std::string_view verb = is_delete ? "DELETE" : "UPDATE";
  // A publication lists partitions, or the root that they are sent as.
  const std::string sql = fmt::format(
      "SELECT {3}, pg_catalog.quote_ident(p.pubname) FROM (SELECT {0} AS oid "
      "UNION SELECT "
      "relid FROM pg_catalog.pg_partition_tree({0})) leaf "
      "JOIN pg_catalog.pg_class c ON c.oid = leaf.oid "
      "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
      "JOIN pg_catalog.pg_publication p ON p.{1} "
      "WHERE EXISTS (SELECT FROM "
      "pg_catalog.pg_get_publication_tables(p.pubname) t WHERE t.relid = c.oid "
      "OR t.relid IN (SELECT relid FROM "
      "pg_catalog.pg_partition_ancestors(c.oid))) AND {2} "
      "ORDER BY 1, 2 LIMIT 1",
      RelationOidSql(connection, table), is_delete ? "pubdelete" : "pubupdate",
      kHasNone, kNameSql);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  Findings findings;
  if (rows.size() == 0) co_return findings;
  findings.push_back(
      {severity, FindingId("replica_identity_nothing"),
       fmt::format("table {}", rows.Text(0, 0)),
       fmt::format("has no replica identity (no primary key), and publication "
                   "{} sends {}s of it: Postgres rejects each {} of {}",
                   rows.Text(0, 1), verb, verb, needed_for),
       FullSql(rows.Text(0, 0))});
  co_return findings;
}

asio::awaitable<absl::StatusOr<Findings>> CheckPublishedChanges(
    Connection& connection, std::string publication) {
  const std::string sql = fmt::format(
      "SELECT {3}, p.pubupdate, p.pubdelete, pg_catalog.count(*) OVER () "
      "FROM pg_catalog.pg_publication p, LATERAL (SELECT relid AS oid FROM "
      "pg_catalog.pg_get_publication_tables(p.pubname) UNION SELECT tree.relid "
      "FROM pg_catalog.pg_get_publication_tables(p.pubname) t, "
      "pg_catalog.pg_partition_tree(t.relid) tree) leaf "
      "JOIN pg_catalog.pg_class c ON c.oid = leaf.oid "
      "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
      "WHERE p.pubname = {0} AND (p.pubupdate OR p.pubdelete) AND {1} "
      "ORDER BY 1 LIMIT {2}",
      connection.Literal(publication), kHasNone, kMaxNamedTables, kNameSql);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  Findings findings;
  if (rows.size() == 0) co_return findings;
  std::string names;
  std::string remedy;
  for (size_t row = 0; row < rows.size(); ++row) {
    fmt::format_to(std::back_inserter(names), "{}{}", row == 0 ? "" : ", ",
                   rows.Text(row, 0));
    fmt::format_to(std::back_inserter(remedy), "{}{}", row == 0 ? "" : " ",
                   FullSql(rows.Text(row, 0)));
  }
  const std::string_view verbs = !rows.Bool(0, 2)   ? "UPDATE"
                                 : !rows.Bool(0, 1) ? "DELETE"
                                                    : "UPDATE and DELETE";
  findings.push_back(
      {Severity::kWarning, FindingId("publication_rejects_changes"),
       fmt::format("publication {}", publication),
       fmt::format("sends each {} of {} table(s) that have no replica identity "
                   "(no primary key), so Postgres rejects these statements of "
                   "every program: {}{}",
                   verbs, rows.Text(0, 3), names,
                   rows.Unsigned(0, 3) > kMaxNamedTables ? ", ..." : ""),
       remedy});
  co_return findings;
}

}  // namespace walpost
