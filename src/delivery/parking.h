// Parking: the durable place for events that wait for an operator, as the
// Sender sees it.
//
//   event ──ClaimOf──▶ kFree     deliver it
//                      kFollows  an earlier event of its key is parked: Park
//                      kIsolated its topic is isolated: Park, unless it cannot
//                                be delivered anyway
//                      kFull     the same, but no more may wait: stop
//                      kWaits    its key or topic is being released: offer it
//                                again
//                      kSettled  an operator has discarded it, or its dead
//                                letter is stored: leave it out
//                      kConflict another event is on record at its position:
//                                stop
//
// A parked event is in flight until its place reports it, like a record. So is
// a dead letter, if the place keeps them; no event waits behind it.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "delivery/acknowledgement_window.h"
#include "outbox/event.h"

namespace walpost {

class Parking {
 public:
  enum class Claim {
    kFree,
    kFollows,
    kIsolated,
    kFull,
    kWaits,
    kSettled,
    kConflict,
  };

  virtual ~Parking() = default;

  // Call it for events in stream order, for each as often as it is offered.
  virtual Claim ClaimOf(const Event& event) = 0;
  // True if the event was parked, and is in Kafka since.
  virtual bool WasReleased(const Event& event) = 0;
  // From this event on, the events of its topic are parked, until the topic
  // has taken all of them. Ignored if it has no topic, or there is no room.
  virtual void Isolate(const Event& event) = 0;
  // Not ok (kInvalidArgument, kFailedPrecondition) if the event cannot be
  // parked, or its claim is kFull or kConflict; the message says why.
  virtual absl::Status MayPark(const Event& event) = 0;

  // Copies the event, and reports `sequence` (RecordReports::OnAcknowledged)
  // when it is durable. `reason`: why it cannot be delivered; ok: it follows
  // such an event. Returns the bytes that it takes until then.
  virtual size_t Park(const Event& event, const absl::Status& reason,
                      Sequence sequence) = 0;

  // True if dead letters are stored here, not in Kafka.
  virtual bool KeepsLetters() const = 0;
  // As Park, but later events of the key are still sent. Requires KeepsLetters.
  virtual size_t KeepLetter(const Event& event, const absl::Status& reason,
                            Sequence sequence) = 0;
};

}  // namespace walpost
