#include "cli/recovery/only_in_slot.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "checkpoint/checkpoint_scope.h"
#include "fmt/format.h"
#include "outbox/pending_events.h"
#include "outbox/route.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/task_session.h"
#include "postgres/slot/slot_peek.h"
#include "postgres/tables/table_scan.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<OnlyInSlot>> FindOnlyInSlot(
    asio::any_io_executor executor, const Config& config,
    const SlotInspection& inspection, const EventsOnRecord& on_record,
    const TableFilter& filter, SlotRecovery& founder) {
  const std::optional<SlotState>& slot = inspection.diagnosis.slot;
  if (!slot || slot->wal_status == "lost") co_return OnlyInSlot();
  WALPOST_CO_ASSIGN_OR_RETURN(const std::vector<Route> routes,
                              Route::CreateAll(config.outbox));
  const std::vector<std::vector<std::string>> references = ReferencesOf(routes);
  ConnectionOptions session = TaskSession(config.postgres, "recover");
  session.statement_limit = kScanStatementLimit;
  WALPOST_CO_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, session));
  PendingEvents pending;
  CheckpointScope owner;
  owner.system_identifier = founder.system_identifier();
  owner.timeline = founder.timeline();
  owner.slot = config.postgres.slot;
  Lsn delivered;
  if (inspection.checkpoint.ok() && *inspection.checkpoint) {
    delivered =
        DeliveredUpTo(**inspection.checkpoint, owner, inspection.diagnosis.gap);
  }
  const auto show = [&](const Event& event) {
    const bool is_delivered = event.position.commit_lsn < delivered;
    if (!is_delivered && !on_record.FindInWal(event)) pending.Add(event);
  };
  const absl::Status peeked =
      co_await PeekSlot(*connection, config.postgres, config.outbox, references,
                        inspection.wal_end, show);
  // Its publication did not exist then: nothing of it can ever be sent.
  if (SqlstateOf(peeked) == kSqlstateUndefinedObject) co_return OnlyInSlot();
  if (!peeked.ok()) {
    co_return absl::FailedPreconditionError(fmt::format(
        "what slot {} still has cannot be read: {}. Repair that first; or give "
        "up what it has, and publish what the tables have: walpost recover -c "
        "FILE --force",
        config.postgres.slot, std::string(peeked.message())));
  }
  connection.reset();
  if (pending.size() == 0) co_return OnlyInSlot();
  TablePublisher::Options scan;
  scan.filter = filter;
  scan.rows.on_record = on_record;  // such a row need not be deliverable
  scan.dry_run = true;
  scan.rows.is_wanted = [&pending](const Event& row, auto) {
    pending.Remove(row);
    return false;
  };
  const auto scanned = co_await founder.Publish(std::move(scan));
  if (!scanned.ok()) co_return scanned.status();
  co_return OnlyInSlot{pending.size(), pending.ToText()};
}

std::string OnlyInSlotText(const OnlyInSlot& only, const std::string& slot) {
  if (only.events == 0) return "";
  return fmt::format(
      "only slot {} has {} events, which no table of outbox.tables has: {}. "
      "It is kept, and sends them; walpost recover -c FILE --force would give "
      "them up\n",
      slot, only.events, only.named);
}

}  // namespace walpost
