#include "postgres/connect/relation_oid.h"

#include "fmt/format.h"

namespace walpost {

std::string RelationOidSql(Connection& connection, std::string_view table) {
  const auto quote = [&connection](std::string_view text) {
    return connection.Literal(text);
  };
  return RelationOidSql(std::function<std::string(std::string_view)>(quote),
                        table);
}

std::string RelationOidSql(
    const std::function<std::string(std::string_view)>& quote,
    std::string_view table) {
  const size_t dot = table.find('.');
  return fmt::format(
      "(SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
      "ON n.oid = c.relnamespace WHERE n.nspname = {} AND c.relname = {})",
      quote(table.substr(0, dot)), quote(table.substr(dot + 1)));
}

std::string NamesSql(Connection& connection,
                     std::span<const TableOptions> tables) {
  std::string names;
  for (const TableOptions& table : tables) {
    names += names.empty() ? "ARRAY[" : ", ";
    names += connection.Literal(table.name);
  }
  return names.empty() ? "'{}'::text[]" : names + "]::text[]";
}

std::string TablesSql(Connection& connection,
                      std::span<const TableOptions> tables) {
  return fmt::format(
      "tables AS MATERIALIZED (SELECT wanted.ordinality - 1 AS number, "
      "wanted.name, c.oid AS relation FROM pg_catalog.unnest({}) WITH "
      "ORDINALITY AS wanted (name) LEFT JOIN (pg_catalog.pg_class c JOIN "
      "pg_catalog.pg_namespace n ON n.oid = c.relnamespace) ON n.nspname = "
      "pg_catalog.split_part(wanted.name, '.', 1)::name AND c.relname = "
      "pg_catalog.substr(wanted.name, pg_catalog.strpos(wanted.name, '.') + "
      "1)::name)",
      NamesSql(connection, tables));
}

}  // namespace walpost
