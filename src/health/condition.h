// Condition: one thing that is wrong with a relay, or noteworthy, and how bad
// it is. Several may hold at once.
//
// Pure.
#pragma once

#include <string>
#include <vector>

#include "health/relay_signs.h"
#include "health/relay_status.h"

namespace walpost {

// Who or what ends a condition, the worst first.
enum class Permanence {
  kOperator,     // an operator has to act: no outage's end does it
  kMayPass,      // an outage, which may end by itself
  kInformation,  // events are published, or need not be
};

// The part that a condition is about. Of one part, the worst condition explains
// the others.
enum class Part {
  kSlot,
  kPublication,
  kEvent,
  kPause,
  kSource,
  kSink,
  kStore,
  kWal
};

struct Condition {
  RelayState state = RelayState::kStuck;
  Permanence permanence = Permanence::kMayPass;
  Part part = Part::kSource;
  // Cause, and what to do.
  std::string reason;
  // The same in a few words, to be named behind a worse one.
  std::string brief;
  // The reason as one word, if it has one (base/reason_code.h).
  std::string code = {};
  // Nothing but a note behind another condition.
  bool is_note = false;
};

// The conditions that hold, the worst first. The order is that of the table in
// condition.cc; docs/states.md has it, too. Empty: all is well.
std::vector<Condition> ConditionsOf(const RelaySigns& signs);

}  // namespace walpost
