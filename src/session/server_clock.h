// ServerClock: the time on the clock of a server that stamps what it sends.
//
// The frame with the least delay shows the difference of the clocks best, so
// the greatest difference counts.
//
// Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/time.h"

namespace walpost {

class ServerClock {
 public:
  // A frame was received that the server sent at `sent`, by its own clock.
  void OnSent(WallTime sent, MonotonicTime received) {
    const auto ahead = sent.time_since_epoch() -
                       std::chrono::duration_cast<std::chrono::microseconds>(
                           received.time_since_epoch());
    ahead_ = std::max(ahead, ahead_.value_or(ahead));
    heard_at_ = received;
  }

  // Another server may answer.
  void Reset() { ahead_.reset(); }

  // The time on the server's clock; nullopt: the server has sent nothing.
  std::optional<WallTime> Now(MonotonicTime now) const {
    if (!ahead_) return std::nullopt;
    return WallTime(*ahead_ +
                    std::chrono::duration_cast<std::chrono::microseconds>(
                        now.time_since_epoch()));
  }

  // When something was received last, from any server.
  MonotonicTime heard_at() const { return heard_at_; }

 private:
  std::optional<std::chrono::microseconds> ahead_;
  MonotonicTime heard_at_{};
};

}  // namespace walpost
