// Lease: the time until which a poller's rows are its own.
//
// By the poller's own clock, counted from before the statement that claimed or
// renewed them was sent, so that it expires here before it expires on the
// server. At five sixths of it, records still on their way are called back:
// this must be done before another poller may claim the rows.
//
//   |-------- renew_at --------------- purge_at ---- end |
//   0         a third                  five sixths
//
// Pure: the caller passes the time.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/time.h"

namespace walpost {

class Lease {
 public:
  explicit Lease(std::chrono::milliseconds length) : length_(length) {}

  // A statement sent at `sent` has claimed rows; `is_first`: no others are
  // held. Rows held before keep the older time.
  void OnClaimed(MonotonicTime sent, bool is_first) {
    begun_ = is_first ? sent : std::min(begun_, sent);
  }
  // A statement sent at `sent` has renewed all rows.
  void OnRenewed(MonotonicTime sent) { begun_ = sent; }

  // Valid while rows are held.
  MonotonicTime renew_at() const { return begun_ + length_ / 3; }
  MonotonicTime purge_at() const { return begun_ + length_ * 5 / 6; }
  bool has_ended(MonotonicTime now) const { return now >= begun_ + length_; }

 private:
  std::chrono::milliseconds length_;
  MonotonicTime begun_{};
};

}  // namespace walpost
