// RetrySchedule: decides when a rejected row is tried again or given up.
//
// Exponential with full jitter: after attempt n a uniformly random time of at
// most backoff * 2^(n-1), capped. Only rejections count, outages do not.
//
// Pure: the caller passes the seed.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

#include "polling/polling_options.h"

namespace walpost {

class RetrySchedule {
 public:
  struct Decision {
    bool give_up = false;
    std::chrono::milliseconds retry_in{0};
  };

  RetrySchedule(const PollingOptions& options, uint64_t seed)
      : initial_(options.retry_backoff),
        cap_(options.retry_backoff_max),
        max_attempts_(options.max_attempts),
        random_(seed) {}

  // Decides after the `attempts`-th rejection of a row, counted from 1.
  // `can_fail`: the table can show that a row was given up.
  Decision AfterRefusal(uint64_t attempts, bool can_fail) {
    Decision decision;
    decision.give_up =
        can_fail && max_attempts_ > 0 && attempts >= max_attempts_;
    const uint64_t doublings =
        std::min<uint64_t>(attempts == 0 ? 0 : attempts - 1, kMaxDoublings);
    const auto ceiling = std::min(cap_, initial_ * (int64_t{1} << doublings));
    std::uniform_int_distribution<int64_t> draw(0, ceiling.count());
    decision.retry_in = std::chrono::milliseconds(draw(random_));
    return decision;
  }

 private:
  static constexpr uint64_t kMaxDoublings = 20;

  std::chrono::milliseconds initial_;
  std::chrono::milliseconds cap_;
  uint64_t max_attempts_;
  std::minstd_rand random_;
};

}  // namespace walpost
