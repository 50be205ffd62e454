#include "postgres/catalog/column_order.h"

#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/connect/relation_oid.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

constexpr std::string_view kNoSuchOperator = "42883";

}  // namespace

asio::awaitable<absl::StatusOr<std::string>> ReadTypeOf(Connection& connection,
                                                        std::string table,
                                                        std::string column) {
  const std::string sql = fmt::format(
      "SELECT pg_catalog.format_type(atttypid, atttypmod) FROM "
      "pg_catalog.pg_attribute WHERE attrelid = {} AND attname = {} AND NOT "
      "attisdropped",
      RelationOidSql(connection, table), connection.Literal(column));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  if (rows.size() == 0) co_return std::string();
  co_return rows.Text(0, 0);
}

asio::awaitable<absl::StatusOr<bool>> CanCompare(Connection& connection,
                                                 std::string type,
                                                 Comparison comparison) {
  // An array or a row has an operator if its elements have one, which only the
  // server's parser knows.
  const std::string compare =
      fmt::format("SELECT c FROM (SELECT NULL::{}) AS t (c) {} c", type,
                  comparison == Comparison::kOrder ? "WHERE c < c ORDER BY"
                                                   : "WHERE c = c GROUP BY");
  const absl::StatusOr<QueryRows> compared =
      co_await connection.Execute(compare);
  if (compared.ok()) co_return true;
  if (SqlstateOf(compared.status()) == kNoSuchOperator) co_return false;
  co_return compared.status();
}

}  // namespace walpost
