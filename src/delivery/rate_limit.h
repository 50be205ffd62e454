// RateLimit: allows a number of events per second, evenly. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace walpost {

class RateLimit {
 public:
  // Time for which an unused allowance may be made up.
  static constexpr std::chrono::milliseconds kBurst{100};

  // 0: no limit. At most a billion.
  explicit RateLimit(uint64_t per_second)
      : interval_(per_second == 0 ? 0 : 1'000'000'000 / per_second) {}

  bool MayTake(MonotonicTime now) const { return now >= next_; }
  // Time when the next event may be sent.
  MonotonicTime next() const { return next_; }

  void Take(MonotonicTime now) {
    next_ = std::max(next_, now - kBurst) + interval_;
  }

 private:
  std::chrono::nanoseconds interval_;
  MonotonicTime next_{};
};

}  // namespace walpost
