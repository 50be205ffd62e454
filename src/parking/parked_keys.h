// ParkedKeys: decides which events are parked, and keeps the parked events that
// are not stored yet.
//
//   Sender ──Park──▶ queue ──NextBatch──▶ owner stores it ──OnStored──▶
//      ▲ (postgres/parking/parking_table.h) └── ClaimOf ◀── HeldKeys ◀── Load,
//      OnRead ◀── owner
//
// The store is the truth. The owner loads it (Load) when a stream begins, after
// no other instance can write to it any more. Events that were queued before
// and are still in flight stay queued.
//
// Owned by the ParkedEventService. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "delivery/parking.h"
#include "delivery/recorded_events.h"
#include "outbox/options.h"
#include "outbox/route.h"
#include "parking/held_keys.h"
#include "parking/ordering_key.h"
#include "parking/parked_event.h"
#include "parking/parking_options.h"

namespace walpost {

// The content of the store when a stream begins.
struct ParkedSoFar {
  // The first event that waits, dead or not. With a digest it was counted under
  // another numbering, and the stream may show it again: of its position only
  // the commit is known.
  struct First {
    Position position;
    std::string digest = {};
    std::string source = {};
  };
  struct OrderingKey {
    OwnValue aggregate_type;
    std::string key;
    First first;
  };
  std::vector<OrderingKey> lanes;  // in the order of their first events
  // Isolated topics, with the first and the last event that waits for each.
  struct Span {
    First first;
    Position last;
  };
  std::map<std::string, Span> topics;
  // Events that a stream from the slot's position may show again: dead letters
  // in any state, and parked events that were released or discarded.
  struct Settled {
    ParkedState state = ParkedState::kDiscarded;
    uint64_t number = 0;  // of its row
  };
  RecordedEvents<Settled> settled;
};

// The rows of the store that the owner may release.
struct ParkedReading {
  // Lanes in which events wait, dead or not.
  std::set<std::string> waiting{};
  // The lanes of `waiting` whose events are all on their way to Kafka now.
  std::set<std::string> leaving{};
  // Topics for which events wait, without events whose key is parked.
  std::set<std::string> waiting_topics{};
  std::set<std::string> leaving_topics{};
  // All events that wait for a topic.
  size_t isolated_bytes = 0;
  std::chrono::seconds isolated_for{0};
};

// kFailedPrecondition, with its reason code: another event than that of the
// stream is on record at `position`. `number`: of its row.
absl::Status AnotherEventIsParked(std::string_view table,
                                  const Position& position, uint64_t number);

class ParkedKeys final : public Parking {
 public:
  // The routes outlive this object.
  ParkedKeys(const ParkingOptions& options, const OutboxOptions& outbox,
             const std::vector<Route>& routes);

  // ---- Parking, for the Sender.

  Claim ClaimOf(const Event& event) override;
  bool WasReleased(const Event& event) override;
  void Isolate(const Event& event) override;
  absl::Status MayPark(const Event& event) override;
  size_t Park(const Event& event, const absl::Status& reason,
              Sequence sequence) override;
  bool KeepsLetters() const override {
    return letters_.store == DeadLetterOptions::Store::kPostgres;
  }
  size_t KeepLetter(const Event& event, const absl::Status& reason,
                    Sequence sequence) override;

  // ---- For the owner.

  // True if there is room for another isolated topic. False also if that is not
  // known yet.
  bool MayIsolate() const;
  // Called when a topic is isolated.
  void SetIsolationListener(std::function<void(const std::string&)> listener) {
    on_isolated_ = std::move(listener);
  }

  // Called when an event was parked.
  void SetListener(std::function<void()> on_parked) {
    on_parked_ = std::move(on_parked);
  }

  // A stream begins. `is_in_flight`: whether the sender still waits for the
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
  // (Sender::OnCapacity).
  void BeginReading() { stored_at_reading_ = stored_; }
  bool OnRead(const ParkedReading& reading);
  // The release takes long: events of lanes that are leaving are parked again.
  bool GiveUpWaiting();
  // An event that waited for its topic cannot be delivered: its key is parked.
  void Hold(const std::string& lane, const Position& position) {
    lanes_.Hold(lane, position, stored_);
  }

  const HeldKeys& lanes() const { return lanes_; }
  // Isolated topics, as lanes by the topics' names.
  const HeldKeys& topics() const { return topics_; }
  bool holds_any() const { return !lanes_.empty() || !topics_.empty(); }
  LaneScope scope() const { return scope_; }
  size_t queued() const { return queue_.size(); }

 private:
  struct Queued {
    ParkedEvent event;
    // The lane of its key; unused if it waits for its topic, or is a dead
    // letter.
    std::string lane;
    Sequence sequence;
  };

  static constexpr size_t kMaxTopics = 16;

  using Settled = RecordedEvents<ParkedSoFar::Settled>::Entry;

  const Settled* FindSettled(const Event& event, std::string& digest);
  bool Holds(HeldKeys& lanes, const std::string& lane, const Event& event,
             std::string& digest) const;
  bool WaitsForTopic(const Event& event);
  std::string DigestOf(const Event& event) const;
  std::string TopicOf(const Event& event) const;
  bool HasCapacityForTopic() const;
  absl::Status MayWaitForTopic() const;
  bool WasStored(const std::string& topic, const Position& position) const;
  void HoldFrom(HeldKeys& lanes, const std::string& lane,
                const ParkedSoFar::First& first) const;
  void HoldQueued(const Queued& queued, uint64_t end);

  const ParkingOptions options_;
  const DeadLetterOptions letters_;
  const std::vector<Route>& routes_;
  const LaneScope scope_;

  HeldKeys lanes_;
  HeldKeys topics_;
  bool has_read_ = false;      // since Load
  size_t isolated_bytes_ = 0;  // as last read, and queued since
  std::chrono::seconds isolated_for_{0};
  ParkedSoFar so_far_;
  std::function<void()> on_parked_;
  std::function<void(const std::string&)> on_isolated_;
  std::deque<Queued> queue_;
  uint64_t stored_ = 0;  // number of queue_.front()
  uint64_t stored_at_reading_ = 0;
};

}  // namespace walpost
