#include "delivery/latency_histogram.h"

#include <algorithm>
#include <cmath>

namespace walpost {
namespace {

using Bounds = std::array<int64_t, LatencyHistogram::kBuckets>;

const Bounds& UpperBoundsMicros() {
  static const Bounds bounds = [] {
    Bounds filled;
    for (size_t i = 0; i < filled.size(); ++i) {
      filled[i] =
          std::llround(100.0 * std::pow(2.0, static_cast<double>(i) / 2));
    }
    return filled;
  }();
  return bounds;
}

}  // namespace

void LatencyHistogram::Record(std::chrono::microseconds latency,
                              uint64_t times) {
  const Bounds& bounds = UpperBoundsMicros();
  const auto bucket = std::ranges::lower_bound(bounds, latency.count());
  const auto last = static_cast<ptrdiff_t>(kBuckets - 1);
  buckets_[static_cast<size_t>(std::min(bucket - bounds.begin(), last))] +=
      times;
  count_ += times;
  const auto most = std::max(latency, std::chrono::microseconds(0));
  sum_ += most * static_cast<int64_t>(times);
}

std::chrono::microseconds LatencyHistogram::UpperBound(size_t bucket) {
  return std::chrono::microseconds(UpperBoundsMicros()[bucket]);
}

std::chrono::microseconds LatencyHistogram::Quantile(double fraction) const {
  if (count_ == 0) return std::chrono::microseconds(0);
  const auto wanted =
      static_cast<uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
  uint64_t seen = 0;
  size_t bucket = 0;
  for (; bucket + 1 < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (seen >= wanted && seen > 0) break;
  }
  return UpperBound(bucket);
}

LatencyHistogram LatencyHistogram::Since(
    const LatencyHistogram& earlier) const {
  LatencyHistogram difference = *this;
  for (size_t i = 0; i < kBuckets; ++i) {
    difference.buckets_[i] -= earlier.buckets_[i];
  }
  difference.count_ -= earlier.count_;
  difference.sum_ -= earlier.sum_;
  return difference;
}

}  // namespace walpost
