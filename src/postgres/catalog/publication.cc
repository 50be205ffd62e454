#include "postgres/catalog/publication.h"

#include <algorithm>

#include "base/server_version.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/connect/quote.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<bool>> PublicationExists(
    Connection& connection, std::string publication) {
  const std::string sql =
      fmt::format("SELECT 1 FROM pg_catalog.pg_publication WHERE pubname = {}",
                  connection.Literal(publication));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  co_return rows.size() > 0;
}

asio::awaitable<absl::StatusOr<PublicationRights>> FindPublicationRights(
    Connection& connection, std::string publication) {
  const std::string sql = fmt::format(
      "SELECT current_user, (SELECT pg_catalog.pg_has_role(pubowner, 'USAGE') "
      "FROM pg_catalog.pg_publication WHERE pubname = {})",
      connection.Literal(publication));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  PublicationRights rights;
  rights.role = rows.Text(0, 0);
  rights.exists = rows.Get(0, 1).has_value();
  rights.may_alter = rows.Bool(0, 1);
  co_return rights;
}

std::string PublicationList(Connection& connection,
                            std::string_view publication) {
  return connection.Literal(QuoteName(publication));
}

std::string PublishedOperations(std::span<const TableOptions> tables) {
  const bool needs_updates = std::ranges::any_of(
      tables,
      [](const TableOptions& table) { return table.debezium != nullptr; });
  return needs_updates ? "insert, update" : "insert";
}

std::string CreatePublicationSql(std::string_view publication,
                                 std::span<const TableOptions> tables,
                                 int server_version) {
  std::string list;
  for (const TableOptions& table : tables) {
    list += list.empty() ? " FOR TABLE " : ", ";
    list += QuoteQualifiedName(table.name);
  }
  return fmt::format(
      "CREATE PUBLICATION {}{} WITH (publish = '{}', "
      "publish_via_partition_root = true{});",
      QuoteName(publication), list, PublishedOperations(tables),
      server_version >= kFirstWithGeneratedColumns
          ? ", publish_generated_columns = stored"
          : "");
}

asio::awaitable<absl::Status> CreatePublication(
    Connection& connection, std::string publication,
    std::span<const TableOptions> tables) {
  const std::string sql =
      CreatePublicationSql(publication, tables, connection.server_version());
  absl::StatusOr<QueryRows> rows = co_await connection.Execute(sql);
  co_return rows.status();
}

}  // namespace walpost
