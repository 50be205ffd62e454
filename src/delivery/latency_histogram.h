// LatencyHistogram: counts of durations in buckets that grow by a factor of
// sqrt(2), from 100 microseconds to about two minutes; the last bucket takes
// the rest.
//
// Recording takes a few instructions. Quantiles are the upper bound of their
// bucket: never too small, at most 42 % too large.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace walpost {

class LatencyHistogram {
 public:
  static constexpr size_t kBuckets = 42;

  // `times`: how many events had this latency.
  void Record(std::chrono::microseconds latency, uint64_t times = 1);

  uint64_t count() const { return count_; }
  std::chrono::microseconds sum() const { return sum_; }
  uint64_t bucket(size_t i) const { return buckets_[i]; }
  static std::chrono::microseconds UpperBound(size_t bucket);

  // The smallest bound that at least `fraction` (0 to 1) of the recorded
  // durations do not exceed; zero if nothing was recorded.
  std::chrono::microseconds Quantile(double fraction) const;

  // The durations recorded since `earlier`, a copy of this histogram.
  LatencyHistogram Since(const LatencyHistogram& earlier) const;

 private:
  std::array<uint64_t, kBuckets> buckets_{};
  uint64_t count_ = 0;
  std::chrono::microseconds sum_{0};
};

}  // namespace walpost
