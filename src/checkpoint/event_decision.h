// EventDecision: what an operator has decided about the event that the flow
// has stopped before (`walpost skip`, `walpost dead-letter`).
//
// A line in the comment of the publication, beside the birth record:
//
//   walpost: slot orders skip 0/154F6A8/3 of system 7710532146069433627
//   timeline=1 by=alice at=2026-11-22T12:00:00Z why=paid by hand
//
// (one line; everything behind `why=` is the reason). It is obeyed by whoever
// has the slot, now or at the next start, for this event of this timeline of
// this system alone. It stays on record until the next decision of the slot.
//
// Pure; postgres/decision_record.h reads and writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "delivery/error_actions.h"
#include "outbox/position.h"

namespace walpost {

struct EventDecision {
  std::string slot;
  ErrorAction action = ErrorAction::kSkip;  // or kDeadLetter
  Position position;
  std::string system_identifier;
  uint32_t timeline = 0;
  std::string by;   // a name without spaces
  WallTime at{};    // whole seconds
  std::string why;  // one line

  friend bool operator==(const EventDecision&, const EventDecision&) = default;
};

// Finds the decision about `slot` in a comment; puts `decision` into a comment,
// in the place of an earlier one of its slot. Line feeds and, in `by`, spaces
// are replaced.
std::optional<EventDecision> FindDecision(std::string_view comment,
                                          std::string_view slot);
std::string WithDecision(std::string_view comment,
                         const EventDecision& decision);

}  // namespace walpost
