#include "postgres/slot/slot_history.h"

namespace walpost {
SlotHistory HistoryOf(const std::optional<SlotState>& slot,
                      const std::optional<BirthRecord>& birth,
                      std::string_view system_identifier,
                      HasCheckpoint has_checkpoint) {
  const bool was_used = has_checkpoint == HasCheckpoint::kYes;
  if (!slot) {
    return birth || was_used ? SlotHistory::kMissing : SlotHistory::kNone;
  }
  if (was_used) return SlotHistory::kUsed;
  if (!birth) return SlotHistory::kUnknown;
  const bool stands_at_birth =
      birth->system_identifier == system_identifier &&
      slot->confirmed_flush_lsn == birth->consistent_point &&
      slot->wal_status != "lost";
  return stands_at_birth && !AllWasPublished(*birth) ? SlotHistory::kUnused
                                                     : SlotHistory::kUsed;
}

}  // namespace walpost
