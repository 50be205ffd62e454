// SlotHistory: whether a slot has ever been streamed from.
//
// Everything that happens once, at the first start, depends on it: the initial
// snapshot, and the warning about rows that are older than the slot.
#pragma once

#include <optional>
#include <string_view>

#include "postgres/birth_record.h"
#include "postgres/slot.h"

namespace walpost {

enum class SlotHistory {
  kNone,     // no slot, and nothing says that there ever was one
  kMissing,  // no slot, though there was one: a gap
  kUnknown,  // a slot without a birth record: nobody knows whose events it had
  kUnused,   // a slot that stands where it was born: nothing was streamed yet
  kUsed,     // streamed from, or everything from before it was published
};

enum class HasCheckpoint { kNo, kYes };

// From what the server says now. A record of another system counts as kUsed:
// whether that is a gap is not decided here (delivery/continuity.h).
SlotHistory HistoryOf(const std::optional<SlotState>& slot,
                      const std::optional<BirthRecord>& birth,
                      std::string_view system_identifier,
                      HasCheckpoint has_checkpoint);

// Whether a first start is still to come; only then is the checkpoint store
// worth asking.
inline bool IsBeforeFirstStream(SlotHistory history) {
  return history == SlotHistory::kNone || history == SlotHistory::kUnknown ||
         history == SlotHistory::kUnused;
}

}  // namespace walpost
