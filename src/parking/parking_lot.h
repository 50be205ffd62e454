// ParkingLot: decides which events are parked, and keeps those that are not
// stored yet.
//
//   Pipeline ──Park──▶ queue ──NextBatch──▶ owner stores it ──OnStored──▶
//      ▲                                         (postgres/parking_table.h)
//      └── ClaimOf ◀── HeldLanes ◀── Load, ReleaseDrained ◀── owner
//
// The store is the truth: whoever begins a stream loads it (Load), after no
// other instance can write to it any more. Events that were queued before and
// are still in flight stay queued.
//
// Owned by the ParkingKeeper. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "delivery/parking.h"
#include "outbox/options.h"
#include "outbox/route.h"
#include "parking/held_lanes.h"
#include "parking/lane.h"
#include "parking/parked_event.h"
#include "parking/parking_options.h"

namespace walpost {

// What a store knows when a stream begins.
struct ParkedSoFar {
  struct Lane {
    OwnValue aggregate_type;
    std::string key;
    Position first;  // of the events that wait, dead or not
  };
  std::vector<Lane> lanes;
  // Events that a stream from the slot's position may show again.
  std::set<Position> discarded;
  std::set<Position> released;
};

// What the store has for the owner to release.
struct ParkedReading {
  // Lanes in which events wait, dead or not.
  std::set<std::string> waiting;
  // Those of them whose events are all on their way to Kafka now.
  std::set<std::string> leaving;
};

class ParkingLot final : public Parking {
 public:
  // The routes outlive this object.
  ParkingLot(const ParkingOptions& options, const OutboxOptions& outbox,
             const std::vector<Route>& routes);

  // ---- Parking, for the Pipeline.

  Claim ClaimOf(const Event& event) const override;
  bool WasReleased(const Position& position) const override {
    return so_far_.released.contains(position);
  }
  absl::Status MayPark(const Event& event) const override;
  size_t Park(const Event& event, const absl::Status& reason,
              Sequence sequence) override;

  // ---- For the owner.

  // Called when an event was parked.
  void SetListener(std::function<void()> on_parked) {
    on_parked_ = std::move(on_parked);
  }

  // A stream begins. `is_in_flight`: whether the pipeline still waits for the
  // report of a sequence. No batch may be on its way.
  void Load(ParkedSoFar so_far, std::function<bool(Sequence)> is_in_flight);

  // The oldest events that are not stored, up to these limits, but at least
  // one, if there is any. Valid until OnStored or Load.
  std::vector<const ParkedEvent*> NextBatch(size_t max_events,
                                            size_t max_bytes) const;
  // The oldest `count` events are stored. Returns their sequences, to report.
  std::vector<Sequence> OnStored(size_t count);

  // The owner reads what is to be released, and has read it: lanes in which
  // nothing waits are released. Events of a lane that is leaving wait, so that
  // it comes to an end while others arrive. True if events may be offered again
  // (Pipeline::OnRoom).
  void BeginReading() { stored_at_reading_ = stored_; }
  bool OnRead(const ParkedReading& reading);
  // It takes long: events of lanes that are leaving are parked again.
  bool GiveUpWaiting() { return lanes_.OpenAll(); }

  const HeldLanes& lanes() const { return lanes_; }
  LaneScope scope() const { return scope_; }
  size_t queued() const { return queue_.size(); }

 private:
  struct Queued {
    ParkedEvent event;
    std::string lane;
    Sequence sequence;
  };

  const ParkingOptions options_;
  const std::vector<Route>& routes_;
  const LaneScope scope_;
  std::vector<std::string> sources_;  // by Event::source

  HeldLanes lanes_;
  ParkedSoFar so_far_;
  std::function<void()> on_parked_;
  std::deque<Queued> queue_;
  uint64_t stored_ = 0;  // number of queue_.front()
  uint64_t stored_at_reading_ = 0;
};

}  // namespace walpost
