#include "postgres/connect/session_wait.h"

#include <vector>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// Selects the transactions that block `pid`. A prepared one has no process (pid
// 0).
std::string BlockersSql(const std::string& pid) {
  return fmt::format(
      "SELECT b.pid, a.usename, a.state, "
      "extract(epoch FROM now() - a.xact_start)::bigint, "
      "(SELECT string_agg(format('ROLLBACK PREPARED %L;', p.gid), ' ') "
      "FROM pg_catalog.pg_prepared_xacts p JOIN pg_catalog.pg_locks l "
      "ON l.transactionid = p.transaction "
      "WHERE l.pid = {0} AND NOT l.granted) "
      "FROM unnest(pg_catalog.pg_blocking_pids({0})) b(pid) "
      "LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = b.pid",
      pid);
}

std::string DescribeBlocker(const QueryRows& rows, size_t row) {
  const std::string pid = rows.Text(row, 0);
  if (pid == "0") {
    return fmt::format(
        "a prepared transaction, to be ended with COMMIT PREPARED or {}",
        rows.Text(row, 4));
  }
  std::string who = "pid " + pid;
  if (rows.Get(row, 1)) who += fmt::format(", role {}", rows.Text(row, 1));
  if (rows.Get(row, 2)) who += fmt::format(", {}", rows.Text(row, 2));
  if (rows.Get(row, 3)) {
    who += fmt::format(", its transaction began {} s ago", rows.Text(row, 3));
  }
  return fmt::format("{}, to be ended with SELECT pg_terminate_backend({});",
                     who, pid);
}

}  // namespace

asio::awaitable<absl::StatusOr<std::string>> DescribeBlockers(
    Connection& connection, std::string pid) {
  const std::string sql = BlockersSql(pid);
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await connection.Execute(sql));
  std::vector<std::string> blockers;
  for (size_t row = 0; row < rows.size(); ++row) {
    blockers.push_back(DescribeBlocker(rows, row));
  }
  co_return absl::StrJoin(blockers, " ");
}

asio::awaitable<absl::StatusOr<std::string>> DescribeWait(
    Connection& connection, int pid) {
  const std::string sql = fmt::format(
      "SELECT wait_event, current_setting('synchronous_standby_names') FROM "
      "pg_catalog.pg_stat_activity WHERE pid = {}",
      pid);
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await connection.Execute(sql));
  if (rows.size() == 0) co_return std::string();
  if (rows.Text(0, 0) == "SyncRep") {
    co_return fmt::format(
        "it waits for a synchronous standby (synchronous_standby_names = "
        "'{}'): SELECT application_name, state, sync_state FROM "
        "pg_stat_replication;",
        rows.Text(0, 1));
  }
  const std::string blocked = std::to_string(pid);
  WALPOST_CO_ASSIGN_OR_RETURN(const std::string blockers,
                              co_await DescribeBlockers(connection, blocked));
  co_return blockers.empty()
      ? std::string()
      : fmt::format("it waits for a lock of {}", blockers);
}

}  // namespace walpost
