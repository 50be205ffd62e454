// EventDecision: an operator's decision about the event that the flow has
// stopped before (`walpost skip`, `walpost dead-letter`).
//
// A line in the comment of the publication, beside the birth record:
//
//   walpost: slot orders skip 0/154F6A8/3 of system 7710532146069433627
//   timeline=1 numbering=81985529216486895 event=95a79dcd1ec8d9a1c67fbb18
//   by=alice at=2026-11-22T12:00:00Z why=paid by hand
//
// (one line; everything behind `why=` is the reason). The instance that has the
// slot obeys it, now or at the next start, if the flow stops before this event
// of this timeline of this system, and adds `obeyed=yes`. The line stays on
// record, so that later readers of the event, from the WAL or from its table,
// leave it out.
//
// Pure; postgres/slot/decision_record.h reads and writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "delivery/error_actions.h"
#include "delivery/sender.h"
#include "outbox/events_on_record.h"
#include "outbox/position.h"

namespace walpost {

struct EventDecision {
  std::string slot;
  ErrorAction action = ErrorAction::kSkip;  // or kDeadLetter
  Position position;
  std::string system_identifier;
  uint32_t timeline = 0;
  // Numbering that the ordinal counts in (outbox/numbering.h), and digest of
  // the event (outbox/event_digest.h). 0 and empty in the lines of releases
  // before 0.3, which decide nothing: their position may be another event's.
  uint64_t numbering = 0;
  std::string digest;
  bool was_obeyed = false;
  std::string by;   // a name without spaces
  WallTime at{};    // whole seconds
  std::string why;  // one line

  friend bool operator==(const EventDecision&, const EventDecision&) = default;
};

// True if it is about the event of `at` that has this digest. `at` has a
// timeline, and counts in `numbering`: an ordinal of another one says nothing.
struct EventPlace {
  std::string system_identifier;
  uint32_t timeline = 0;
  uint64_t numbering = 0;
  Position position;
};
bool IsAbout(const EventDecision& decision, const EventPlace& at,
             std::string_view digest);

// The events that a stream on that timeline leaves out, whether they could be
// delivered by now or not: the flow has passed them once.
Sender::Skips SkipsOf(const std::vector<EventDecision>& decisions,
                      const EventPlace& at);

// Adds the skipped events for readers of the WAL of that system, or of tables.
// LSNs of another system are others.
void AddSkips(const std::vector<EventDecision>& decisions,
              std::string_view system_identifier, EventsOnRecord& events);

// Limit of decisions of a slot; each is a line of some 250 bytes.
inline constexpr size_t kMaxDecisions = 1'000;

// Finds the decisions about `slot` in a comment, the oldest first; puts
// `decision` into a comment, in the place of an earlier one about the same
// event. Line feeds and, in `by`, spaces are replaced.
std::vector<EventDecision> FindDecisions(std::string_view comment,
                                         std::string_view slot);
std::string WithDecision(std::string_view comment,
                         const EventDecision& decision);

}  // namespace walpost
