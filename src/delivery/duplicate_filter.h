// DuplicateFilter: finds the acknowledged events of a repeated stream.
//
// After the producer was lost, replication starts again at the confirmed LSN.
// Records of one partition are acknowledged in order, but partitions overtake
// each other, so some records behind the oldest unacknowledged one were
// acknowledged. Sending those again would be harmless duplicates; sending them
// alone, behind newer records of their key, would break promise P3's "never a
// lone older record". So they are skipped, by exact position.
//
// Pure. Bounded by the size of the window that it came from.
#pragma once

#include <vector>

#include "outbox/event.h"

namespace walpost {

class DuplicateFilter {
 public:
  DuplicateFilter() = default;

  // Adds events, in ascending order, that were acknowledged. Events of an
  // earlier loss that the stream has not reached yet stay.
  void Add(const std::vector<EventIdentity>& acknowledged);

  // Call it for events in stream order.
  bool IsAcknowledged(const EventIdentity& event);

  size_t size() const { return acknowledged_.size() - passed_; }

 private:
  std::vector<EventIdentity> acknowledged_;  // ascending
  size_t passed_ = 0;
};

}  // namespace walpost
