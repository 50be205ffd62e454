// ResumeFilter: finds the acknowledged events of a repeated stream.
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

#include <compare>
#include <vector>

#include "base/xid.h"
#include "outbox/position.h"

namespace walpost {

// The transaction is part of it: after the WAL has forked, another event may
// stand at the same position.
struct AcknowledgedEvent {
  // NOLINTNEXTLINE(google-explicit-constructor): of a transaction not known.
  AcknowledgedEvent(const Position& at, Xid by = Xid())
      : position(at), xid(by) {}

  Position position;
  Xid xid;

  friend auto operator<=>(const AcknowledgedEvent&,
                          const AcknowledgedEvent&) = default;
};

class ResumeFilter {
 public:
  ResumeFilter() = default;

  // Adds events, in ascending order, that were acknowledged. Events of an
  // earlier loss that the stream has not reached yet stay.
  void Add(const std::vector<AcknowledgedEvent>& acknowledged);

  // Call it for events in stream order.
  bool IsAcknowledged(const AcknowledgedEvent& event);

  size_t size() const { return acknowledged_.size() - passed_; }

 private:
  std::vector<AcknowledgedEvent> acknowledged_;  // ascending
  size_t passed_ = 0;
};

}  // namespace walpost
