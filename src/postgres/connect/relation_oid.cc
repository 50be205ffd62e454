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

}  // namespace walpost
