#include "postgres/connect/replication_right.h"

#include <memory>
#include <utility>

#include "base/sql_name.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<ReplicationRight>> FindReplicationRight(
    Connection& connection, std::string role) {
  const std::string sql = fmt::format(
      "SELECT r.rolsuper OR r.rolreplication OR coalesce("
      "pg_catalog.pg_has_role(r.oid, rds.oid, 'MEMBER'), false), rds.oid IS "
      "NOT NULL FROM pg_catalog.pg_roles r LEFT JOIN pg_catalog.pg_roles rds "
      "ON rds.rolname = 'rds_replication' WHERE r.rolname = {}",
      connection.Literal(role));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  if (rows.size() == 0) {
    co_return absl::NotFoundError(fmt::format("role {} does not exist", role));
  }
  ReplicationRight right;
  right.is_held = rows.Bool(0, 0);
  const std::string name = QuoteName(role);
  right.sql = rows.Bool(0, 1)
                  ? fmt::format("GRANT rds_replication TO {};", name)
                  : fmt::format("ALTER ROLE {} REPLICATION;", name);
  co_return right;
}

asio::awaitable<absl::Status> WithReplicationRemedy(
    asio::any_io_executor executor, ConnectionOptions options,
    absl::Status status) {
  options.replication = false;
  const absl::StatusOr<std::unique_ptr<Connection>> connection =
      co_await Connection::Connect(executor, std::move(options));
  if (!connection.ok()) co_return status;
  const absl::StatusOr<ReplicationRight> right =
      co_await FindReplicationRight(**connection, PQuser((*connection)->raw()));
  if (!right.ok()) co_return status;
  const std::string text =
      fmt::format("{}; {}", std::string(status.message()), right->sql);
  const absl::Status explained(status.code(), text);
  co_return WithSqlstate(explained, SqlstateOf(status));
}

}  // namespace walpost
