// SlotHistory: says whether a slot has ever been streamed from.
//
// Everything that happens once, at the first start, depends on it: the initial
// snapshot, and the warning about rows that are older than the slot.
#pragma once

namespace walpost {

enum class SlotHistory {
  kNone,     // no slot, and no record of an earlier one
  kMissing,  // no slot, though there was one: a gap
  kUnknown,  // a slot without a birth record: its earlier use is not known
  kUnused,   // a slot at its birth position: nothing was streamed yet
  kUsed,     // streamed from, or everything from before it was published
};

// True if the first stream is still to come; only then the checkpoint store
// needs to be asked.
inline bool IsBeforeFirstStream(SlotHistory history) {
  return history == SlotHistory::kNone || history == SlotHistory::kUnknown ||
         history == SlotHistory::kUnused;
}

}  // namespace walpost
