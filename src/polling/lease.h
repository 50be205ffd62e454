// Lease: until when the rows that a poller holds are its own.
//
// By the poller's own clock, counted from before the statement that claimed or
// renewed them was sent, so that it ends here before it ends on the server. At
// five sixths of it whatever is still on its way is called back: nobody else
// may claim the rows before that is done.
//
//   |-------- renew_at --------------- purge_at ---- end |
//   0         a third                  five sixths
//
// Pure: it is told the time.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/time.h"

namespace walpost {

class Lease {
 public:
  explicit Lease(std::chrono::milliseconds length) : length_(length) {}

  // A statement sent at `sent` has claimed rows; `is_first`: none are held yet.
  // Those that are held keep the older time.
  void OnClaimed(MonotonicTime sent, bool is_first) {
    begun_ = is_first ? sent : std::min(begun_, sent);
  }
  // A statement sent at `sent` has renewed all of them.
  void OnRenewed(MonotonicTime sent) { begun_ = sent; }

  // While rows are held.
  MonotonicTime renew_at() const { return begun_ + length_ / 3; }
  MonotonicTime purge_at() const { return begun_ + length_ * 5 / 6; }
  bool has_ended(MonotonicTime now) const { return now >= begun_ + length_; }

 private:
  std::chrono::milliseconds length_;
  MonotonicTime begun_{};
};

}  // namespace walpost
