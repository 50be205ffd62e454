// IsolationTimer: says when a topic has held up the flow for long enough to be
// isolated.
//
// The time runs while the same event is the oldest that the brokers do not
// take, and while they answer: if they are away, no topic is at fault. Nor does
// it run while all records wait for the turns of their partitions.
//
// Pure.
#pragma once

#include <chrono>
#include <optional>

#include "base/time.h"
#include "outbox/position.h"

namespace walpost {

class IsolationTimer {
 public:
  // 0: never.
  explicit IsolationTimer(std::chrono::seconds after) : after_(after) {}

  // Call it a few times a second. `standing_at` is nullopt while the flow does
  // not stand. `brokers_seen_at`: when they answered last. Returns the event
  // whose topic is to be isolated.
  std::optional<Position> Look(std::optional<Position> standing_at,
                               MonotonicTime brokers_seen_at,
                               MonotonicTime now);
  // Later events are acknowledged while the oldest waits for the turn of its
  // partition (AcknowledgementWindow::TakesTurns).
  void OnTurnOfOthers(MonotonicTime now) { since_ = now; }

 private:
  const std::chrono::seconds after_;
  std::optional<Position> at_;
  MonotonicTime since_{};
};

}  // namespace walpost
