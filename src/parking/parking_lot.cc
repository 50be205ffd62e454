#include "parking/parking_lot.h"

#include "fmt/format.h"

namespace walpost {

ParkingLot::ParkingLot(const ParkingOptions& options,
                       const OutboxOptions& outbox,
                       const std::vector<Route>& routes)
    : options_(options), routes_(routes), scope_(ScopeOf(routes)) {
  for (const TableOptions& table : outbox.tables) {
    sources_.push_back(table.name);
  }
  sources_.push_back(outbox.messages.prefix);
}

Parking::Claim ParkingLot::ClaimOf(const Event& event) const {
  if (so_far_.discarded.contains(event.position)) return Claim::kSettled;
  if (lanes_.empty() || !event.aggregate_id) return Claim::kFree;
  const std::string lane =
      LaneOf(scope_, event.aggregate_type, *event.aggregate_id);
  if (!lanes_.Holds(lane, event.position)) return Claim::kFree;
  return lanes_.IsClosed(lane) ? Claim::kWaits : Claim::kFollows;
}

absl::Status ParkingLot::MayPark(const Event& event) const {
  if (!event.aggregate_id) {
    return absl::InvalidArgumentError(
        "it cannot be parked, because it has no aggregate_id, the key of the "
        "events that would wait behind it");
  }
  const std::string lane =
      LaneOf(scope_, event.aggregate_type, *event.aggregate_id);
  if (lanes_.Contains(lane) || lanes_.size() < options_.max_keys) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("it cannot be parked, because {} keys are parked already "
                  "(parking.max_keys): release some (walpost parked)",
                  lanes_.size()));
}

size_t ParkingLot::Park(const Event& event, const absl::Status& reason,
                        Sequence sequence) {
  const std::string lane =
      LaneOf(scope_, event.aggregate_type, event.aggregate_id.value_or(""));
  lanes_.Hold(lane, event.position, stored_ + queue_.size() + 1);
  queue_.push_back({CopyForParking(event, routes_[event.source],
                                   sources_[event.source], reason),
                    lane, sequence});
  if (on_parked_) on_parked_();
  return queue_.back().event.size();
}

void ParkingLot::Load(ParkedSoFar so_far,
                      std::function<bool(Sequence)> is_in_flight) {
  std::erase_if(queue_, [&](const Queued& queued) {
    return !is_in_flight(queued.sequence);
  });
  so_far_ = std::move(so_far);
  lanes_.Clear();
  for (const ParkedSoFar::Lane& lane : so_far_.lanes) {
    lanes_.Hold(LaneOf(scope_, lane.aggregate_type, lane.key), lane.first,
                stored_);
  }
  so_far_.lanes.clear();
  for (size_t i = 0; i < queue_.size(); ++i) {
    lanes_.Hold(queue_[i].lane, queue_[i].event.position, stored_ + i + 1);
  }
}

std::vector<const ParkedEvent*> ParkingLot::NextBatch(size_t max_events,
                                                      size_t max_bytes) const {
  std::vector<const ParkedEvent*> batch;
  size_t bytes = 0;
  for (const Queued& queued : queue_) {
    bytes += queued.event.size();
    const bool is_full = batch.size() == max_events || bytes > max_bytes;
    if (is_full && !batch.empty()) break;
    batch.push_back(&queued.event);
  }
  return batch;
}

std::vector<Sequence> ParkingLot::OnStored(size_t count) {
  std::vector<Sequence> sequences;
  for (size_t i = 0; i < count; ++i) {
    sequences.push_back(queue_.front().sequence);
    queue_.pop_front();
  }
  stored_ += count;
  return sequences;
}

bool ParkingLot::OnRead(const ParkedReading& reading) {
  const bool opened = lanes_.OpenAll();
  const size_t released =
      lanes_.ReleaseExcept(reading.waiting, stored_at_reading_);
  for (const std::string& lane : reading.leaving) lanes_.Close(lane);
  return opened || released > 0;
}

}  // namespace walpost
