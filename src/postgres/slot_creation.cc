#include "postgres/slot_creation.h"

#include "absl/strings/str_join.h"
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

asio::awaitable<absl::StatusOr<std::string>> DescribeSlotCreation(
    Connection& connection, std::string slot) {
  const std::string ours = fmt::format("walpost:{}:", slot);
  const std::string find = fmt::format(
      "SELECT s.slot_name, s.active_pid, a.application_name "
      "FROM pg_catalog.pg_replication_slots s "
      "JOIN pg_catalog.pg_stat_activity a ON a.pid = s.active_pid "
      "WHERE s.slot_type = 'logical' AND s.confirmed_flush_lsn IS NULL AND "
      "(s.slot_name = {} OR starts_with(a.application_name, {})) LIMIT 1",
      connection.Literal(slot), connection.Literal(ours));
  absl::StatusOr<QueryRows> rows = co_await connection.Execute(find);
  if (!rows.ok()) co_return rows.status();
  if (rows->size() == 0) co_return std::string();
  const std::string pid = rows->Text(0, 1);
  std::string text = fmt::format("slot {} is being created by {} (pid {})",
                                 rows->Text(0, 0), rows->Text(0, 2), pid);
  const std::string sql = BlockersSql(pid);
  rows = co_await connection.Execute(sql);
  if (!rows.ok()) co_return rows.status();
  std::vector<std::string> blockers;
  for (size_t row = 0; row < rows->size(); ++row) {
    blockers.push_back(DescribeBlocker(*rows, row));
  }
  if (!blockers.empty()) {
    text += fmt::format(", which waits for transactions to end: {}",
                        absl::StrJoin(blockers, " "));
  }
  co_return text;
}

}  // namespace walpost
