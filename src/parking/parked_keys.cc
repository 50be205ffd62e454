#include "parking/parked_keys.h"

#include <algorithm>

#include "base/reason_code.h"
#include "fmt/format.h"
#include "outbox/event_digest.h"

namespace walpost {

absl::Status AnotherEventIsParked(std::string_view table,
                                  const Position& position, uint64_t number) {
  return WithReasonCode(
      absl::FailedPreconditionError(fmt::format(
          "table {0} has another event at {1} than the stream: was the server "
          "or the table restored? Look at it (walpost parked -c FILE list "
          "--all, "
          "walpost dead-letters -c FILE list --all); to give it up, run DELETE "
          "FROM "
          "{0} WHERE number = {2}; and restart walpost",
          table, ToString(position), number)),
      kReasonParkedEventDiffers);
}

ParkedKeys::ParkedKeys(const ParkingOptions& options,
                       const OutboxOptions& outbox,
                       const std::vector<Route>& routes)
    : options_(options),
      letters_(outbox.dead_letter),
      routes_(routes),
      scope_(ScopeOf(routes)) {}

Parking::Claim ParkedKeys::ClaimOf(const Event& event) {
  std::string digest;
  if (const Settled* settled = FindSettled(event, digest)) {
    if (AreOfDifferentEvents(settled->digest, digest)) return Claim::kConflict;
    if (settled->fact.state != ParkedState::kReleased) return Claim::kSettled;
  }
  if (!lanes_.empty() && event.aggregate_id) {
    const std::string lane =
        LaneOf(scope_, event.aggregate_type, *event.aggregate_id);
    if (Holds(lanes_, lane, event, digest)) {
      return lanes_.IsClosed(lane) ? Claim::kWaits : Claim::kFollows;
    }
  }
  if (topics_.empty()) return Claim::kFree;
  const std::string topic = TopicOf(event);
  if (!Holds(topics_, topic, event, digest)) return Claim::kFree;
  if (topics_.IsClosed(topic)) return Claim::kWaits;
  const bool may_wait =
      WasStored(topic, event.position) || MayWaitForTopic().ok();
  return may_wait ? Claim::kIsolated : Claim::kFull;
}

// What is on record about the event, or about another one at its position.
// `digest`: of the event, as soon as it is needed.
const ParkedKeys::Settled* ParkedKeys::FindSettled(const Event& event,
                                                   std::string& digest) {
  if (!so_far_.settled.MayHave(event.position)) return nullptr;
  digest = DigestOf(event);
  return so_far_.settled.Find(event.position, digest);
}

bool ParkedKeys::Holds(HeldKeys& lanes, const std::string& lane,
                       const Event& event, std::string& digest) const {
  if (digest.empty() && lanes.AsksForDigest(lane, event.position)) {
    digest = DigestOf(event);
  }
  return lanes.Holds(lane, event.position, digest);
}

bool ParkedKeys::WaitsForTopic(const Event& event) {
  if (topics_.empty()) return false;
  std::string digest;
  return Holds(topics_, TopicOf(event), event, digest);
}

std::string ParkedKeys::DigestOf(const Event& event) const {
  return EventDigest(routes_[event.source].source(), event);
}

bool ParkedKeys::WasReleased(const Event& event) {
  std::string digest;
  const Settled* settled = FindSettled(event, digest);
  return settled != nullptr && settled->fact.state == ParkedState::kReleased;
}

// Before this stream: such an event needs no more room, and those behind it are
// sent only after it has been passed again.
bool ParkedKeys::WasStored(const std::string& topic,
                           const Position& position) const {
  const auto found = so_far_.topics.find(topic);
  return found != so_far_.topics.end() && position <= found->second.last;
}

// Empty: it has none that is legal. An event that could not be mapped may lack
// what its topic is made from.
std::string ParkedKeys::TopicOf(const Event& event) const {
  const Route& route = routes_[event.source];
  if (event.references.size() != route.references().size()) return "";
  std::string topic;
  const absl::Status expanded = route.topic().Expand(event.references, topic);
  return expanded.ok() ? topic : "";
}

void ParkedKeys::Isolate(const Event& event) {
  const std::string topic = TopicOf(event);
  if (topic.empty() || topics_.Contains(topic) || !HasCapacityForTopic())
    return;
  // Until this event, at least, is stored.
  topics_.Hold(topic, event.position, stored_ + queue_.size() + 1);
  if (on_isolated_) on_isolated_(topic);
}

// Without room, its first event would stop the flow before stored ones that
// must be sent first to make room.
bool ParkedKeys::MayIsolate() const {
  const bool knows_room = has_read_ || so_far_.topics.empty();
  return knows_room && HasCapacityForTopic();
}

// As far as is known from the last reading, which may be one before this
// stream.
bool ParkedKeys::HasCapacityForTopic() const {
  return topics_.size() < kMaxTopics && MayWaitForTopic().ok();
}

absl::Status ParkedKeys::MayWaitForTopic() const {
  const char* limit = nullptr;
  if (isolated_bytes_ >= options_.max_isolated_bytes) {
    limit =
        "events wait in parking.table already as parking.max_isolated_bytes "
        "allows";
  } else if (isolated_for_ >= options_.max_isolated_time) {
    limit = "events wait for longer than parking.max_isolated_time";
  }
  if (limit == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "its topic is isolated, and {}: repair the topic, or raise the limit",
      limit));
}

absl::Status ParkedKeys::MayPark(const Event& event) {
  std::string digest;
  const Settled* settled = FindSettled(event, digest);
  if (settled != nullptr && AreOfDifferentEvents(settled->digest, digest)) {
    return AnotherEventIsParked(options_.table, event.position,
                                settled->fact.number);
  }
  if (WaitsForTopic(event)) return MayWaitForTopic();
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
                  "(parking.max_keys): release some (walpost parked -c FILE)",
                  lanes_.size()));
}

size_t ParkedKeys::Park(const Event& event, const absl::Status& reason,
                        Sequence sequence) {
  const std::string lane =
      LaneOf(scope_, event.aggregate_type, event.aggregate_id.value_or(""));
  ParkedEvent parked = CopyForParking(event, routes_[event.source], reason);
  const bool follows_key = lanes_.Holds(lane, event.position, parked.digest);
  if (reason.ok() && !follows_key && !topics_.empty()) {
    parked.topic = TopicOf(event);
    isolated_bytes_ += parked.size();
  }
  queue_.push_back({std::move(parked), lane, sequence});
  HoldQueued(queue_.back(), stored_ + queue_.size());
  if (on_parked_) on_parked_();
  return queue_.back().event.size();
}

// A dead letter holds up neither its key nor its topic.
size_t ParkedKeys::KeepLetter(const Event& event, const absl::Status& reason,
                              Sequence sequence) {
  queue_.push_back({CopyAsLetter(event, routes_[event.source], reason,
                                 TopicOf(event), letters_.payload),
                    "", sequence});
  if (on_parked_) on_parked_();
  return queue_.back().event.size();
}

void ParkedKeys::HoldQueued(const Queued& queued, uint64_t end) {
  const ParkedEvent& event = queued.event;
  if (event.state == ParkedState::kLetter) return;
  if (event.topic.empty()) {
    lanes_.Hold(queued.lane, event.position, end);
  } else {
    topics_.Hold(event.topic, event.position, end);
  }
}

// If the source of the first event is not configured any more, the stream does
// not show it, and all events of its transaction may come behind it.
void ParkedKeys::HoldFrom(HeldKeys& lanes, const std::string& lane,
                          const ParkedSoFar::First& first) const {
  const bool is_shown =
      !first.digest.empty() &&
      std::ranges::find(routes_, first.source, &Route::source) != routes_.end();
  if (!is_shown) return lanes.Hold(lane, first.position, stored_);
  lanes.HoldFromDigest(lane, first.position.commit_lsn, first.digest, stored_);
}

void ParkedKeys::Load(ParkedSoFar so_far,
                      std::function<bool(Sequence)> is_in_flight) {
  std::erase_if(queue_, [&](const Queued& queued) {
    return !is_in_flight(queued.sequence);
  });
  so_far_ = std::move(so_far);
  has_read_ = false;
  lanes_.Clear();
  for (const ParkedSoFar::OrderingKey& lane : so_far_.lanes) {
    HoldFrom(lanes_, LaneOf(scope_, lane.aggregate_type, lane.key), lane.first);
  }
  so_far_.lanes.clear();
  topics_.Clear();
  for (const auto& [topic, span] : so_far_.topics) {
    HoldFrom(topics_, topic, span.first);
  }
  for (size_t i = 0; i < queue_.size(); ++i) {
    HoldQueued(queue_[i], stored_ + i + 1);
  }
}

std::vector<const ParkedEvent*> ParkedKeys::NextBatch(size_t max_events,
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

std::vector<Sequence> ParkedKeys::OnStored(size_t count) {
  std::vector<Sequence> sequences;
  for (size_t i = 0; i < count; ++i) {
    sequences.push_back(queue_.front().sequence);
    queue_.pop_front();
  }
  stored_ += count;
  return sequences;
}

bool ParkedKeys::OnRead(const ParkedReading& reading) {
  const bool had_room = MayWaitForTopic().ok();
  const bool opened = GiveUpWaiting();
  // First: events of a released key may wait for its topic.
  for (const std::string& topic : reading.waiting_topics) {
    if (!topics_.Contains(topic)) topics_.Hold(topic, Position(), stored_);
  }
  const size_t released =
      lanes_.ReleaseExcept(reading.waiting, stored_at_reading_) +
      topics_.ReleaseExcept(reading.waiting_topics, stored_at_reading_);
  for (const std::string& lane : reading.leaving) lanes_.Close(lane);
  for (const std::string& topic : reading.leaving_topics) topics_.Close(topic);
  isolated_bytes_ = reading.isolated_bytes;
  for (const Queued& queued : queue_) {
    if (!queued.event.topic.empty()) isolated_bytes_ += queued.event.size();
  }
  isolated_for_ = reading.isolated_for;
  has_read_ = true;
  return opened || released > 0 || (!had_room && MayWaitForTopic().ok());
}

bool ParkedKeys::GiveUpWaiting() {
  const bool opened = lanes_.OpenAll();
  return topics_.OpenAll() || opened;
}

}  // namespace walpost
