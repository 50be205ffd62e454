// SlotHistory: has a slot ever been streamed from?
//
// Everything that happens once, at the first start, depends on it: the initial
// snapshot, and the warning about rows that are older than the slot.
#pragma once

#include <optional>
#include <string_view>

#include "postgres/slot/birth_record.h"
#include "postgres/slot/slot.h"

namespace walpost {

enum class SlotHistory {
  kNone,     // no slot, and no record of an earlier one
  kMissing,  // no slot, though there was one: a gap
  kUnknown,  // a slot without a birth record: its earlier use is not known
  kUnused,   // a slot at its birth position: nothing was streamed yet
  kUsed,     // streamed from, or everything from before it was published
};

enum class HasCheckpoint { kNo, kYes };

// Judges by the server's state now. A record of another system counts as kUsed:
// checkpoint/continuity.h decides whether that is a gap.
SlotHistory HistoryOf(const std::optional<SlotState>& slot,
                      const std::optional<BirthRecord>& birth,
                      std::string_view system_identifier,
                      HasCheckpoint has_checkpoint);

// True if the first stream is still to come; only then the checkpoint store
// needs to be asked.
inline bool IsBeforeFirstStream(SlotHistory history) {
  return history == SlotHistory::kNone || history == SlotHistory::kUnknown ||
         history == SlotHistory::kUnused;
}

}  // namespace walpost
