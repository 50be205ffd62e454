#include "retention/retention_check.h"

#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/catalog/replica_identity.h"
#include "postgres/slot/slot.h"
#include "retention/outbox_shape.h"
#include "retention/slot_proof.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

Finding Warning(FindingId id, const std::string& table, std::string text,
                std::string remedy) {
  return {Severity::kWarning, std::move(id),
          fmt::format("retention of {}", table), std::move(text),
          std::move(remedy)};
}

// Only for an existing slot: other checks report a missing one.
asio::awaitable<absl::Status> CheckProof(
    Connection& connection, const WalSourceOptions& postgres,
    const std::vector<TableOptions>& tables, Findings& findings) {
  WALPOST_CO_ASSIGN_OR_RETURN(const std::optional<SlotState> slot,
                              co_await FindSlot(connection, postgres.slot));
  if (!slot) co_return absl::OkStatus();
  SlotProof proof(postgres, tables, nullptr);
  const absl::Status status = co_await proof.Look(connection);
  if (absl::IsFailedPrecondition(status)) {
    findings.push_back({Severity::kWarning,
                        FindingIdOf(status, FindingId("retention_unproven")),
                        "retention", std::string(status.message()), ""});
    co_return absl::OkStatus();
  }
  if (!status.ok()) co_return status;
  for (size_t i = 0; i < tables.size(); ++i) {
    const std::string doubt = proof.UnprovenReason(i);
    if (doubt.empty()) continue;
    findings.push_back(Warning(FindingId("retention_table_unproven"),
                               tables[i].name, "no row is deleted", doubt));
  }
  co_return absl::OkStatus();
}

}  // namespace

asio::awaitable<absl::StatusOr<Findings>> CheckRetention(
    Connection& connection, WalSourceOptions postgres,
    std::vector<TableOptions> tables, SentProof proof) {
  Findings findings;
  if (proof == SentProof::kSlot) {
    WALPOST_CO_RETURN_IF_ERROR(
        co_await CheckProof(connection, postgres, tables, findings));
  }
  for (const TableOptions& table : tables) {
    const std::string limit = "-infinity";
    absl::StatusOr<OutboxShape> shape =
        co_await ReadOutboxShape(connection, table, proof, limit);
    if (absl::IsFailedPrecondition(shape.status())) {
      findings.push_back(
          Warning(FindingIdOf(shape.status(),
                              FindingId("retention_time_column_missing")),
                  table.name, std::string(shape.status().message()), ""));
      continue;
    }
    if (!shape.ok()) co_return shape.status();
    std::string name = table.name;
    std::string needed_for = "prune and retention.keep";
    WALPOST_CO_ASSIGN_OR_RETURN(
        const Findings identity,
        co_await CheckReplicaIdentity(connection, name, RowChange::kDelete,
                                      needed_for, Severity::kWarning));
    findings.insert(findings.end(), identity.begin(), identity.end());
    for (const OutboxShape::Leaf& leaf : shape->leaves) {
      if (leaf.is_quick) continue;
      findings.push_back(Warning(FindingId("retention_index_missing"),
                                 leaf.name, "no index finds its old rows",
                                 MissingIndexSql(*shape, leaf)));
    }
    const std::string sql = fmt::format(
        "SELECT has_table_privilege(oid, 'SELECT') "
        "AND has_table_privilege(oid, 'DELETE'), "
        "pg_has_role(relowner, 'USAGE'), quote_ident(current_user) "
        "FROM pg_class WHERE oid = to_regclass({})",
        connection.Literal(shape->table));
    absl::StatusOr<QueryRows> may = co_await connection.Execute(sql);
    if (!may.ok()) co_return may.status();
    if (!may->Bool(0, 0)) {
      findings.push_back(
          Warning(FindingId("retention_delete_forbidden"), table.name,
                  "rows may not be deleted",
                  fmt::format("GRANT SELECT, DELETE ON {} TO {};", shape->table,
                              may->Text(0, 2))));
    }
    if (shape->has_time_partitions && !may->Bool(0, 1)) {
      findings.push_back(
          Warning(FindingId("retention_partitions_forbidden"), table.name,
                  "partitions may not be made or dropped",
                  fmt::format("grant the role that owns {} to {}", shape->table,
                              may->Text(0, 2))));
    }
  }
  co_return findings;
}

}  // namespace walpost
