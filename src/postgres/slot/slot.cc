#include "postgres/slot/slot.h"

#include "base/finding_id.h"
#include "base/read_refusal.h"
#include "base/server_version.h"
#include "base/sql_name.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/connect/replication_right.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<std::optional<SlotState>>> FindSlot(
    Connection& connection, std::string slot) {
  const std::string sql = fmt::format(
      "SELECT plugin, wal_status, active, restart_lsn, "
      "confirmed_flush_lsn, coalesce(to_jsonb(slot) ->> 'failover', 'false') "
      "= 'true', two_phase, database, pg_catalog.current_database(), "
      "slot_type, coalesce(to_jsonb(slot) ->> 'invalidation_reason', CASE "
      "to_jsonb(slot) ->> 'conflicting' WHEN 'true' THEN 'conflicting' END) "
      "FROM pg_catalog.pg_replication_slots slot WHERE slot_name = {}",
      connection.Literal(slot));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  if (rows.size() == 0) co_return std::optional<SlotState>();
  const std::string database = rows.Text(0, 7);
  const std::string here = rows.Text(0, 8);
  if (!database.empty() && database != here) {
    co_return WithFindingId(
        absl::FailedPreconditionError(fmt::format(
            "slot {} belongs to database {}, and this is database {}: correct "
            "the "
            "database in postgres.conninfo, or choose another postgres.slot",
            slot, database, here)),
        FindingId("slot_of_another_database"));
  }
  const std::string plugin = rows.Text(0, 0);
  if (plugin != "pgoutput") {
    co_return WithFindingId(
        absl::FailedPreconditionError(fmt::format(
            "slot {} {}, and walpost needs a slot of pgoutput: set another "
            "postgres.slot",
            slot,
            rows.Text(0, 9) == "physical"
                ? "is a physical slot"
                : fmt::format("belongs to output plugin {}", plugin))),
        FindingId("slot_of_another_plugin"));
  }
  SlotState state;
  state.wal_status = rows.Text(0, 1);
  state.active = rows.Bool(0, 2);
  state.restart_lsn = Lsn::Parse(rows.Text(0, 3)).value_or(Lsn());
  state.confirmed_flush_lsn = Lsn::Parse(rows.Text(0, 4)).value_or(Lsn());
  state.failover = rows.Bool(0, 5);
  state.two_phase = rows.Bool(0, 6);
  state.invalidation_reason = rows.Text(0, 10);
  co_return std::optional<SlotState>(state);
}

asio::awaitable<absl::StatusOr<Lsn>> CreateSlot(Connection& connection,
                                                std::string slot, SlotKind kind,
                                                SlotSnapshot snapshot,
                                                SlotFailover failover,
                                                MonotonicTime deadline) {
  const int version = connection.server_version();
  if (failover == SlotFailover::kYes && version < kFirstWithFailover) {
    co_return absl::FailedPreconditionError(
        "postgres.failover needs PostgreSQL 17 or newer: set it to false");
  }
  std::string attempted = "creating a replication slot";
  std::string command = "CREATE_REPLICATION_SLOT ";
  command += QuoteName(slot);
  if (kind == SlotKind::kTemporary) command += " TEMPORARY";
  command += " LOGICAL pgoutput ";
  const bool uses_snapshot = snapshot == SlotSnapshot::kUse;
  if (version < kFirstWithSlotOptions) {
    command += uses_snapshot ? "USE_SNAPSHOT" : "NOEXPORT_SNAPSHOT";
  } else {
    command +=
        fmt::format("(SNAPSHOT '{}'{})", uses_snapshot ? "use" : "nothing",
                    failover == SlotFailover::kYes ? ", FAILOVER" : "");
  }
  connection.set_deadline(deadline);
  absl::StatusOr<QueryRows> rows =
      co_await connection.Execute(command, attempted);
  connection.set_deadline(std::nullopt);
  if (absl::IsDeadlineExceeded(rows.status())) {
    co_return absl::UnavailableError(fmt::format(
        "creating slot {}: it waits for open transactions to end; see "
        "SELECT pid, state, query FROM pg_stat_activity WHERE backend_xid IS "
        "NOT NULL, and pg_prepared_xacts",
        slot));
  }
  if (!rows.ok()) {
    co_return co_await ExplainSlotCreation(connection, rows.status());
  }
  co_return Lsn::Parse(rows->Text(0, 1));
}

asio::awaitable<absl::Status> DropSlot(Connection& connection,
                                       std::string slot) {
  const std::string drop = fmt::format("SELECT pg_drop_replication_slot({})",
                                       connection.Literal(slot));
  absl::StatusOr<QueryRows> dropped = co_await connection.Execute(drop);
  co_return dropped.status();
}

asio::awaitable<absl::Status> SetFailover(Connection& connection,
                                          std::string slot) {
  const std::string alter =
      fmt::format("ALTER_REPLICATION_SLOT {} (FAILOVER true)", QuoteName(slot));
  absl::StatusOr<QueryRows> altered = co_await connection.Execute(alter);
  co_return altered.status();
}

asio::awaitable<absl::Status> ExplainSlotCreation(Connection& connection,
                                                  absl::Status status) {
  const std::string sqlstate = SqlstateOf(status);
  std::string remedy;
  if (sqlstate == "53400") {
    remedy = fmt::format("max_replication_slots: {}", kFreeSlotRemedy);
  } else if (sqlstate == "55000") {
    remedy = std::string(kWalLevelRemedy);
  } else if (sqlstate == kSqlstatePrivilege) {
    const absl::StatusOr<ReplicationRight> right =
        co_await FindReplicationRight(connection, PQuser(connection.raw()));
    if (right.ok()) remedy = right->sql;
  }
  if (remedy.empty()) co_return status;
  co_return WithSqlstate(absl::FailedPreconditionError(fmt::format(
                             "{}; {}", std::string(status.message()), remedy)),
                         sqlstate);
}

std::string DropTwoPhaseSql(std::string_view slot) {
  return fmt::format(
      "SELECT pg_copy_logical_replication_slot('{0}', '{0}_copy'); "
      "SELECT pg_drop_replication_slot('{0}'); "
      "SELECT pg_copy_logical_replication_slot('{0}_copy', '{0}'); "
      "SELECT pg_drop_replication_slot('{0}_copy');",
      slot);
}

std::string CreateSlotSql(std::string_view slot, SlotFailover failover) {
  if (failover == SlotFailover::kNo) {
    return fmt::format(
        "SELECT pg_create_logical_replication_slot('{}', 'pgoutput');", slot);
  }
  return fmt::format(
      "SELECT pg_create_logical_replication_slot('{}', 'pgoutput', "
      "temporary => false, twophase => false, failover => true);",
      slot);
}

}  // namespace walpost
