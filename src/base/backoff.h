// Backoff: time to wait before the next attempt.
//
// Exponential with full jitter: attempt n waits a uniformly random time of at
// most initial * 2^n, capped, so that many instances do not reconnect in step.
// It has no clock: the caller waits.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace walpost {

class Backoff {
 public:
  struct Options {
    std::chrono::milliseconds initial{100};
    std::chrono::milliseconds cap{10'000};
    // Minimum, so that a short random wait does not cause a busy loop.
    std::chrono::milliseconds least{20};
  };

  Backoff(Options options, uint64_t seed) : options_(options), random_(seed) {}

  std::chrono::milliseconds Next() {
    const auto ceiling =
        std::min(options_.cap, options_.initial * (int64_t{1} << attempt_));
    attempt_ = std::min(attempt_ + 1, kMaxDoublings);
    std::uniform_int_distribution<int64_t> draw(0, ceiling.count());
    return std::max(options_.least, std::chrono::milliseconds(draw(random_)));
  }

  // After a success: the next failure starts from `initial` again.
  void Reset() { attempt_ = 0; }

 private:
  static constexpr int kMaxDoublings = 20;

  Options options_;
  std::minstd_rand random_;
  int attempt_ = 0;
};

}  // namespace walpost
