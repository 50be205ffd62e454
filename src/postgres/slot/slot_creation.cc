#include "postgres/slot/slot_creation.h"

#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/connect/session_name.h"
#include "postgres/connect/session_wait.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<std::string>> DescribeSlotCreation(
    Connection& connection, std::string slot) {
  const std::string ours = SessionPrefix(slot);
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
  WALPOST_CO_ASSIGN_OR_RETURN(const std::string blockers,
                              co_await DescribeBlockers(connection, pid));
  if (!blockers.empty()) {
    text += fmt::format(", which waits for transactions to end: {}", blockers);
  }
  co_return text;
}

}  // namespace walpost
