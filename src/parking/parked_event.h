// ParkedEvent: an event that waits for an operator, or behind one that does.
//
//   kDead ──▶ kRetry ──▶ kReleased     the operator retries it
//     └─────▶ kDiscarded               ... or gives it up
//   kWaiting ──▶ (deleted)             it follows in its turn
//
// A retried event that fails again is kDead again. Pure data.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "dead_letters/dead_letter.h"
#include "outbox/event.h"
#include "outbox/position.h"
#include "outbox/route.h"

namespace walpost {

enum class ParkedState {
  kDead,      // cannot be delivered; its lane waits for it
  kWaiting,   // behind such an event
  kRetry,     // an operator wants it delivered
  kReleased,  // in Kafka
  kDiscarded,
};

// "dead", "waiting", "retry", "released", "discarded".
std::string_view ToString(ParkedState state);

struct ParkedEvent {
  Position position;
  ParkedState state = ParkedState::kDead;
  // It waits for this topic, which is isolated; empty: it does not.
  std::string topic;
  // All of the event; class and reason are empty unless it is dead.
  DeadLetter content;

  // What an event takes besides its fields.
  static constexpr size_t kOverheadBytes = 500;

  // Bytes of its fields, and the overhead.
  size_t size() const;
};

// Copies an event. `reason`: why it cannot be delivered; ok: it waits.
ParkedEvent CopyForParking(const Event& event, const Route& route,
                           std::string_view source, const absl::Status& reason);

}  // namespace walpost
