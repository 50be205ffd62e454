#include "checkpoint/recovery_range.h"

#include "fmt/format.h"

namespace walpost {
namespace {

// Why the horizon is not valid; empty: it is valid.
std::string UnprovenReason(const Checkpoint& checkpoint, uint64_t numbering,
                           const RecoveryServer& server) {
  const XminHorizon& horizon = checkpoint.horizon;
  if (checkpoint.system_identifier != server.system_identifier) {
    return "the checkpoint is of another cluster, which counted transactions "
           "by itself";
  }
  if (checkpoint.timeline != server.timeline) {
    return fmt::format(
        "the checkpoint is of timeline {}, and the server on timeline {}",
        checkpoint.timeline, server.timeline);
  }
  if (!horizon.is_known()) {
    return "the checkpoint has no transaction id yet";
  }
  if (checkpoint.numbering != numbering) {
    return "outbox.tables, outbox.messages.prefix or postgres.publication is "
           "another than the checkpoint's";
  }
  if (horizon.server_started_at != server.started_at) {
    return "the server was restarted since the checkpoint, and may have been "
           "restored from a backup";
  }
  if (server.next_transaction < horizon.transaction_id ||
      server.wal_end < checkpoint.confirmed) {
    return "the server is behind the checkpoint: it was restored";
  }
  return "";
}

RecoveryRange All(std::string_view reason) {
  return {0, fmt::format("all rows: {}", reason)};
}

}  // namespace

RecoveryRange ChooseRecoveryRange(
    const absl::StatusOr<std::optional<Checkpoint>>& loaded, uint64_t numbering,
    const RecoveryServer& server) {
  if (!loaded.ok()) return All(std::string(loaded.status().message()));
  if (!*loaded) return All("there is no checkpoint");
  const Checkpoint& checkpoint = **loaded;
  const std::string doubt = UnprovenReason(checkpoint, numbering, server);
  if (!doubt.empty()) return All(doubt);
  const uint64_t from = checkpoint.horizon.transaction_id;
  return {from,
          fmt::format("rows of transaction {} and later; earlier rows of "
                      "the slot were delivered, as the checkpoint says (--all "
                      "also looks at rows that the slot did not have)",
                      from)};
}

}  // namespace walpost
