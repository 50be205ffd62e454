#include "postgres/slot/replay_window_slot.h"

#include "base/fitted_name.h"
#include "base/server_version.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"
#include "postgres/slot/slot.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

asio::awaitable<absl::Status> DropLost(Connection& connection,
                                       std::string guard) {
  LogError(
      "guard slot {} is lost: the server kept no more WAL for it "
      "(max_slot_wal_keep_size); a replay cannot go back before now, another "
      "guard slot begins here",
      guard);
  co_return co_await DropSlot(connection, guard);
}

}  // namespace

std::string ReplayWindowSlotName(std::string_view slot) {
  constexpr std::string_view kEnd = "_guard";
  return FittedName(slot, kMaxNameBytes - kEnd.size(), '_') + std::string(kEnd);
}

asio::awaitable<absl::Status> EnsureGuardSlot(Connection& connection,
                                              std::string slot, bool failover) {
  const std::string guard = ReplayWindowSlotName(slot);
  WALPOST_CO_ASSIGN_OR_RETURN(std::optional<SlotState> found,
                              co_await FindSlot(connection, guard));
  const bool flag =
      failover && connection.server_version() >= kFirstWithFailover;
  if (found && found->wal_status == "lost") {
    WALPOST_CO_RETURN_IF_ERROR(co_await DropLost(connection, guard));
  } else if (found) {
    if (!flag || found->failover) co_return absl::OkStatus();
    co_return co_await SetFailover(connection, guard);
  }
  const std::string copy = fmt::format(
      "SELECT lsn FROM pg_copy_logical_replication_slot({}, {}, false)",
      connection.Literal(slot), connection.Literal(guard));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows copied,
                              co_await connection.Execute(copy));
  LogInfo("made guard slot {} at {}: a replay can go back to there", guard,
          copied.Text(0, 0));
  if (!flag) co_return absl::OkStatus();
  co_return co_await SetFailover(connection, guard);  // a copy never has it
}

asio::awaitable<void> SetUpGuardSlot(Connection& connection,
                                     const WalSourceOptions& options) {
  const std::string guard = ReplayWindowSlotName(options.slot);
  if (options.replay.enabled()) {
    const absl::Status status =
        co_await EnsureGuardSlot(connection, options.slot, options.failover);
    if (status.ok()) co_return;
    LogWarn("guard slot {} cannot be set up, so there is no replay: {}", guard,
            std::string(status.message()));
    co_return;
  }
  absl::StatusOr<std::optional<SlotState>> left =
      co_await FindSlot(connection, guard);
  if (!left.ok() || !*left) co_return;
  LogWarn(
      "replay.window is off, but guard slot {} exists and makes the server "
      "keep WAL since {}: SELECT pg_drop_replication_slot('{}');",
      guard, (*left)->restart_lsn.ToString(), guard);
}

}  // namespace walpost
