// ParkedEvent: an event that waits for an operator, or behind one that does.
//
//   kDead ──▶ kRetry ──▶ kReleased     the operator retries it
//     └─────▶ kDiscarded               ... or gives it up
//   kWaiting ──▶ (deleted)             it follows in its turn
//
//   kLetter ──▶ kLetterRetry ──▶ kLetterRetried     a dead letter, likewise;
//     └───────▶ kLetterDiscarded                    nothing waits behind it
//
// A retried event that fails again is kDead again, or kLetter. Pure data.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "dead_letters/dead_letter.h"
#include "outbox/event.h"
#include "outbox/events_on_record.h"
#include "outbox/options.h"
#include "outbox/position.h"
#include "outbox/route.h"

namespace walpost {

enum class ParkedState {
  kDead,      // cannot be delivered; its lane waits for it
  kWaiting,   // behind such an event
  kRetry,     // an operator wants it delivered
  kReleased,  // in Kafka
  kDiscarded,
  kLetter,       // cannot be delivered, and later events of its key go on
  kLetterRetry,  // an operator wants it delivered
  kLetterRetried,
  kLetterDiscarded,
};

// "dead", "waiting", "retry", "released", "discarded", "dead_letter",
// "dead_letter_retry", "dead_letter_retried", "dead_letter_discarded".
std::string_view ToString(ParkedState state);
// For readers of the event's table or WAL, which leave it out; nullopt: the
// event is in Kafka.
std::optional<Disposition> DispositionOf(ParkedState state);

struct ParkedEvent {
  Position position;
  std::string digest;  // outbox/event_digest.h
  ParkedState state = ParkedState::kDead;
  // It waits for this topic, which is isolated; empty: it does not.
  std::string topic;
  // The whole event; class and reason are empty unless it is dead. A dead
  // letter may lack its payload, and has the event's topic.
  DeadLetter content;

  // Memory of an event besides its fields.
  static constexpr size_t kOverheadBytes = 500;

  // Bytes of its fields, and the overhead.
  size_t size() const;
};

// Copies an event. `reason`: why it cannot be delivered; ok: it waits.
ParkedEvent CopyForParking(const Event& event, const Route& route,
                           const absl::Status& reason);

// Copies an event whose dead letter is to be stored. `topic`: of the event;
// empty: it has none.
ParkedEvent CopyAsLetter(const Event& event, const Route& route,
                         const absl::Status& reason, std::string topic,
                         DeadLetterOptions::Payload part);

}  // namespace walpost
