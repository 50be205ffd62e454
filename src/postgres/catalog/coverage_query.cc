#include "postgres/catalog/coverage_query.h"

#include "base/finding_id.h"
#include "base/server_version.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/connect/relation_oid.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// Definition of table `o`: "oid.r16394:745", see checkpoint/coverage.h.
std::string DefinitionSql(int server_version) {
  // Schemas of the table and of the partitioned tables above it.
  const std::string schemas =
      server_version < kFirstWithColumnLists
          ? "NULL"
          : "(SELECT string_agg('n' || n.oid || ':' || n.xmin, '.' ORDER BY "
            "n.oid) FROM pg_catalog.pg_publication_namespace n WHERE "
            "n.pnpubid = p.oid AND n.pnnspid IN (SELECT c.relnamespace FROM "
            "pg_catalog.pg_class c WHERE c.oid = o.oid OR c.oid IN "
            "(SELECT pg_catalog.pg_partition_ancestors(o.oid))))";
  return fmt::format(
      "concat_ws('.', o.oid, "
      "(SELECT string_agg('r' || r.oid || ':' || r.xmin, '.' ORDER BY r.oid) "
      "FROM pg_catalog.pg_publication_rel r WHERE r.prpubid = p.oid AND "
      "(r.prrelid = o.oid OR r.prrelid IN "
      "(SELECT pg_catalog.pg_partition_ancestors(o.oid)))), {0}, "
      "CASE WHEN p.puballtables THEN 'a' END, "
      "CASE WHEN p.puballtables OR {0} IS NOT NULL THEN "
      "(SELECT 't' || t.oid || ':' || t.xmin FROM pg_catalog.pg_type t "
      "WHERE t.oid = o.reltype) END, "
      "CASE WHEN p.pubviaroot AND (p.puballtables OR {0} IS NOT NULL) THEN "
      "'k' || o.xmin END, "
      "CASE WHEN o.relkind = 'r' THEN "
      "(SELECT string_agg('c' || i.inhrelid, '.' ORDER BY i.inhrelid) FROM "
      "pg_catalog.pg_inherits i WHERE i.inhparent = o.oid) END)",
      schemas);
}

}  // namespace

std::string CoverageSql(Connection& connection,
                        const std::string& publication) {
  return fmt::format(
      "SELECT p.oid || ':' || p.xmin || CASE WHEN d.xmin IS NULL THEN 'p' WHEN "
      "d.xmin = p.xmin THEN 'o' ELSE 'w' END || p.pubowner, wanted.name, CASE "
      "WHEN o.oid IS NOT NULL THEN {} END FROM (VALUES (true)) one (row) LEFT "
      "JOIN pg_catalog.pg_publication p ON p.pubname = {} LEFT JOIN tables "
      "wanted ON true "
      "LEFT JOIN pg_catalog.pg_shdepend d ON d.objid = p.oid AND d.deptype = "
      "'o' AND d.classid = 'pg_catalog.pg_publication'::regclass AND d.dbid = "
      "(SELECT oid FROM pg_catalog.pg_database WHERE datname = "
      "current_database()) "
      "LEFT JOIN pg_catalog.pg_class o ON o.oid = wanted.relation ORDER BY "
      "wanted.number",
      DefinitionSql(connection.server_version()),
      connection.Literal(publication));
}

asio::awaitable<absl::StatusOr<Coverage>> ReadCoverage(
    Connection& connection, std::string publication,
    std::span<const TableOptions> tables) {
  const std::string sql =
      fmt::format("WITH {} {}", TablesSql(connection, tables),
                  CoverageSql(connection, publication));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  Coverage coverage;
  for (size_t i = 0; i < rows.size(); ++i) {
    coverage.publication = rows.Text(i, 0);
    if (!rows.Get(i, 1)) continue;  // messages only, no table
    coverage.tables.push_back({rows.Text(i, 1), rows.Text(i, 2)});
  }
  co_return coverage;
}

asio::awaitable<absl::Status> RequirePublicationOfRecord(
    Connection& connection, std::string publication, Coverage now,
    std::string known) {
  const std::string before = Coverage::Parse(known).publication;
  if (!now.publication.empty() || before.empty()) co_return absl::OkStatus();
  const std::string sql = fmt::format(
      "SELECT pubname FROM pg_catalog.pg_publication WHERE oid::text = {}",
      connection.Literal(before.substr(0, before.find(':'))));
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await connection.Execute(sql));
  if (rows.size() == 0) co_return absl::OkStatus();
  co_return WithFindingId(absl::FailedPreconditionError(fmt::format(
                              "publication {0} does not exist, and the one "
                              "that the slot has been used "
                              "with is {1}: set postgres.publication: {1}, or "
                              "create {0} first, if it "
                              "is to take its place",
                              publication, rows.Text(0, 0))),
                          FindingId("publication_renamed"));
}

}  // namespace walpost
