// OldestWait: how long the oldest event has been waiting for Kafka. An event
// that Postgres is to store does not.
//
// Other events may overtake it for any time, but where all of them wait for
// their turns. It waits until it is acknowledged, even while it is not in
// flight again after a producer was lost with it.
#pragma once

#include <chrono>

#include "base/time.h"
#include "delivery/acknowledgement_window.h"

namespace walpost {

class OldestWait {
 public:
  explicit OldestWait(MonotonicTime now) : since_(now) {}

  // Call it a few times a second. `oldest` in flight; nullptr: none.
  // `settled_through`: WalProgress.
  void Look(const InFlightRecord* oldest, const Position& settled_through,
            MonotonicTime now) {
    // Postgres has it: it is parked, or a dead letter.
    if (oldest != nullptr && !oldest->is_record()) {
      position_ = oldest->position;
      since_ = now;
      return;
    }
    if (oldest == nullptr && settled_through >= position_) since_ = now;
    if (oldest == nullptr || oldest->position == position_) return;
    position_ = oldest->position;
    since_ = now;
  }

  // Later events are acknowledged while it waits for the turn of its partition
  // (AcknowledgementWindow::TakesTurns).
  void OnTurnOfOthers(MonotonicTime now) { since_ = now; }

  // The next positions belong to another stream.
  void StartOver() { position_ = Position(); }

  // Zero while nothing waits.
  std::chrono::milliseconds Length(MonotonicTime now) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - since_);
  }

 private:
  Position position_;
  MonotonicTime since_;
};

}  // namespace walpost
