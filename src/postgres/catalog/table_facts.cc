#include "postgres/catalog/table_facts.h"

#include <map>
#include <utility>

#include "base/server_version.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/catalog/coverage_query.h"
#include "postgres/connect/relation_oid.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// Foreign partitions of a table that are named.
constexpr size_t kMaxForeign = 5;

// The server hashes the names only in this form of the condition, negated or
// not; else it compares each table of the database with each name.
std::string IsListedSql(const std::string& name) {
  return fmt::format("({} IN (SELECT name FROM tables)) IS TRUE", name);
}

std::string RelationsSql(Connection& connection,
                         const std::string& publication) {
  const std::string has_list =
      connection.server_version() < kFirstWithColumnLists
          ? "false"
          : fmt::format(
                "EXISTS (SELECT FROM pg_catalog.pg_publication_rel r JOIN "
                "pg_catalog.pg_publication p ON p.oid = r.prpubid WHERE "
                "p.pubname = {} AND r.prrelid = c.oid AND r.prattrs IS NOT "
                "NULL)",
                connection.Literal(publication));
  return fmt::format(
      "SELECT tables.number, c.relkind, CASE WHEN c.relkind = 'r' AND "
      "c.relpersistence <> 'p' THEN c.oid::regclass::text ELSE (SELECT "
      "min(leaf.oid::regclass::text) FROM "
      "pg_catalog.pg_partition_tree(c.oid) tree JOIN pg_catalog.pg_class leaf "
      "ON leaf.oid = tree.relid WHERE c.relkind = 'p' AND tree.isleaf AND "
      "leaf.relpersistence <> 'p') END, (SELECT min(s.nspname || '.' || "
      "child.relname) FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class "
      "child ON child.oid = i.inhrelid JOIN pg_catalog.pg_namespace s ON s.oid "
      "= child.relnamespace WHERE i.inhparent = c.oid AND c.relkind = 'r' AND "
      "NOT ({})), {}, s.nspname || '.' || c.relname FROM tables JOIN "
      "pg_catalog.pg_class c ON c.oid = tables.relation JOIN "
      "pg_catalog.pg_namespace s ON s.oid = c.relnamespace ORDER BY "
      "tables.number",
      IsListedSql("s.nspname || '.' || child.relname"), has_list);
}

// At any depth. Postgres decodes what is in its own WAL.
constexpr std::string_view kForeignSql =
    "SELECT tables.number, pg_catalog.format('%I.%I', n.nspname, c.relname), "
    "pg_catalog.format('%I.%I', pn.nspname, p.relname) "
    "FROM tables JOIN pg_catalog.pg_class root ON root.oid = tables.relation "
    "AND root.relkind = 'p', "
    "pg_catalog.pg_partition_tree(root.oid) tree "
    "JOIN pg_catalog.pg_class c ON c.oid = tree.relid "
    "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "JOIN pg_catalog.pg_class p ON p.oid = tree.parentrelid "
    "JOIN pg_catalog.pg_namespace pn ON pn.oid = p.relnamespace "
    "WHERE c.relkind = 'f' ORDER BY 1, 2";

std::string PublishedSql(Connection& connection,
                         const std::string& publication) {
  const bool has_lists = connection.server_version() >= kFirstWithColumnLists;
  return fmt::format(
      "SELECT schemaname || '.' || tablename, {} FROM "
      "pg_catalog.pg_publication_tables WHERE pubname = {} AND {}",
      has_lists ? "attnames, rowfilter" : "NULL, NULL",
      connection.Literal(publication),
      IsListedSql("schemaname || '.' || tablename"));
}

}  // namespace

asio::awaitable<absl::StatusOr<std::vector<TableFacts>>> ReadTableFacts(
    Connection& connection, std::string publication,
    std::span<const TableOptions> tables) {
  std::vector<TableFacts> facts(tables.size());
  if (tables.empty()) co_return facts;
  const std::string with = "WITH " + TablesSql(connection, tables) + " ";
  const std::string relations_sql =
      with + RelationsSql(connection, publication);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows relations,
                              co_await connection.Execute(relations_sql));
  std::map<std::string, size_t> index_of;  // by the name in the catalog
  bool has_partitions = false;
  for (size_t i = 0; i < relations.size(); ++i) {
    const size_t index = relations.Unsigned(i, 0);
    TableFacts& table = facts[index];
    table.kind = relations.Text(i, 1);
    has_partitions |= table.kind == "p";
    if (relations.Get(i, 2)) table.unlogged = relations.Text(i, 2);
    if (relations.Get(i, 3)) table.child = relations.Text(i, 3);
    table.published.has_list = relations.Bool(i, 4);
    index_of[relations.Text(i, 5)] = index;
  }
  if (has_partitions) {
    const std::string sql = with + std::string(kForeignSql);
    WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                                co_await connection.Execute(sql));
    for (size_t i = 0; i < rows.size(); ++i) {
      auto& foreign = facts[rows.Unsigned(i, 0)].foreign;
      if (foreign.size() == kMaxForeign) continue;
      foreign.push_back({rows.Text(i, 1), rows.Text(i, 2)});
    }
  }
  if (!publication.empty()) {
    const std::string sql = with + PublishedSql(connection, publication);
    WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                                co_await connection.Execute(sql));
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto found = index_of.find(rows.Text(i, 0));
      if (found == index_of.end()) continue;
      TableFacts& table = facts[found->second];
      table.is_published = true;
      const auto names = rows.Get(i, 1);
      if (names) table.published.names = ParseNames(*names);
      table.published.filter = rows.Text(i, 2);
    }
  }
  WALPOST_CO_ASSIGN_OR_RETURN(std::vector<TableColumns> columns,
                              co_await ReadColumns(connection, tables));
  for (size_t i = 0; i < facts.size(); ++i) {
    facts[i].published.publication = publication;
    facts[i].columns = std::move(columns[i]);
  }
  co_return facts;
}

asio::awaitable<absl::StatusOr<std::string>> ReadTableDigest(
    Connection& connection, std::string publication,
    std::span<const TableOptions> tables) {
  std::string sql = fmt::format("WITH {} SELECT pg_catalog.concat_ws(' '",
                                TablesSql(connection, tables));
  const std::string settings = fmt::format(
      "SELECT p.* FROM pg_catalog.pg_publication p WHERE pubname = {}",
      connection.Literal(publication));
  for (const std::string& part :
       {settings, CoverageSql(connection, publication),
        RelationsSql(connection, publication), std::string(kForeignSql),
        PublishedSql(connection, publication), ColumnsSql()}) {
    sql += fmt::format(
        ", (SELECT pg_catalog.hashtextextended(pg_catalog.string_agg(part::"
        "text, ','), 0) FROM ({}) part)",
        part);
  }
  sql += ")";
  const std::string attempted = "asking whether the publication has changed";
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection.Execute(sql, attempted));
  co_return rows.Text(0, 0);
}

}  // namespace walpost
