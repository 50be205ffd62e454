// CommitPace: decides when the rows so far are committed as a Kafka
// transaction.
//
// A commit takes some milliseconds, and nothing is sent meanwhile. After a
// failure the next transactions are small: 1 record, 2, 4, ...
//
// Pure. Owned by TableBackfill.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace walpost {

class CommitPace {
 public:
  static constexpr uint64_t kMaxRecords = 10'000;
  static constexpr size_t kMaxBytes = size_t{16} << 20;
  static constexpr std::chrono::seconds kMaxAge{1};

  void OnRow(size_t bytes, MonotonicTime now) {
    ++records_;
    bytes_ += bytes;
    if (!begun_at_) begun_at_ = now;
  }
  bool IsDue(MonotonicTime now) const {
    return records_ >= limit_ || bytes_ >= kMaxBytes ||
           (begun_at_ && now - *begun_at_ >= kMaxAge);
  }
  void OnCommitted() {
    limit_ = std::min(kMaxRecords, 2 * limit_);
    Begin();
  }
  // The sink was taken over: rows that were not committed are read again.
  void OnTakeOver() {
    if (records_ > 0) limit_ = 1;
    Begin();
  }

 private:
  void Begin() {
    records_ = 0;
    bytes_ = 0;
    begun_at_.reset();
  }

  uint64_t limit_ = kMaxRecords;
  uint64_t records_ = 0;
  size_t bytes_ = 0;
  std::optional<MonotonicTime> begun_at_;
};

}  // namespace walpost
