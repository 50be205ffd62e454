#include "sim/simulated_parking.h"

#include <algorithm>
#include <utility>

namespace walpost::sim {
namespace {

constexpr size_t kMaxBatch = 3;
constexpr std::chrono::seconds kIsolateAfter{1};
constexpr std::chrono::seconds kNever{0};

OutboxOptions Outbox(bool has_letters) {
  using Store = DeadLetterOptions::Store;
  OutboxOptions options;
  options.dead_letter.store = has_letters ? Store::kPostgres : Store::kKafka;
  options.tables.resize(1);
  options.messages.prefix = "outbox";
  return options;
}

// Room for a few events only, in some histories.
ParkingOptions DrawOptions(Random& random) {
  ParkingOptions options;
  if (random.OneIn(2)) options.max_isolated_bytes = 2'000;
  return options;
}

}  // namespace

SimulatedParking::SimulatedParking(World& world, SimulatedParkedTable& table,
                                   SimulatedBrokers& brokers, int relay,
                                   WalProgress& progress,
                                   const CheckpointWriter& checkpoints)
    : world_(world),
      table_(table),
      relay_(relay),
      progress_(progress),
      sender_(progress.sender()),
      checkpoints_(checkpoints),
      parked_keys_(DrawOptions(world.random), Outbox(table.has_letters),
                   sender_.builder().routes()),
      isolation_(table.has_topics ? kIsolateAfter : kNever),
      release_(world, brokers, relay, SimulatedBrokers::kReleased),
      retries_(world, brokers, relay, SimulatedBrokers::kRetried),
      drains_{Drain{kTopics[0],
                    {world, brokers, relay, SimulatedBrokers::kToTopics}},
              Drain{kTopics[1],
                    {world, brokers, relay, SimulatedBrokers::kToTopics + 1}}} {
  sender_.SetParking(&parked_keys_);
  parked_keys_.SetIsolationListener(
      [this](const std::string&) { world_.Note(relay_, "isolates a topic"); });
}

void SimulatedParking::Open(Lsn from) {
  Abandon();
  session_ = table_.Open();
  has_topics_ = table_.HasTopics();
  parked_keys_.Load(table_.Load(from), [this](Sequence sequence) {
    return sender_.window().Find(sequence) != nullptr;
  });
}

void SimulatedParking::End() {
  Abandon();
  session_ = 0;
  sender_.OnParkingCapacity();
}

void SimulatedParking::Watch(MonotonicTime brokers_seen_at) {
  const std::optional<Position> position =
      isolation_.Look(sender_.standing_at(), brokers_seen_at, world_.now);
  if (position && parked_keys_.MayIsolate()) sender_.Isolate(*position);
}

void SimulatedParking::Step(RelaySession& session, RecordReports& reports) {
  if (session_ == 0) return;
  switch (world_.random.Below(10)) {
    case 0:
    case 1:
    case 2:
      return Store(session, reports);
    case 3:
      if (parked_keys_.GiveUpWaiting()) sender_.OnCapacity();
      return;
    case 4:
      if (world_.random.OneIn(50)) Abandon();
      return;
    default:
      if (!table_.IsOpen(session_)) return Lose(session);
      if (table_.has_letters) return StepLetters();
      if (reading_) return Apply();
      if (world_.random.OneIn(2)) return Release();
      return StepDrain(drains_[world_.random.Below(drains_.size())]);
  }
}

void SimulatedParking::Store(RelaySession& session, RecordReports& reports) {
  const auto batch =
      parked_keys_.NextBatch(world_.random.Between(1, kMaxBatch), 10'000);
  if (batch.empty()) return;
  if (!table_.IsOpen(session_)) return Lose(session);
  const bool is_lost = world_.random.OneIn(30);
  if (!is_lost || world_.random.OneIn(2)) {
    for (const ParkedEvent* event : batch) table_.Insert(*event);
  }
  if (is_lost) return Lose(session);  // whether they are stored is not known
  world_.Note(relay_, "{} events are parked", batch.size());
  for (const Sequence sequence : parked_keys_.OnStored(batch.size())) {
    reports.OnAcknowledged(sequence, WallTime());
  }
}

void SimulatedParking::Lose(RelaySession& session) {
  world_.Note(relay_, "loses its session with parked events");
  Abandon();
  session_ = 0;
  session.OnLost(absl::UnavailableError("the table is lost"));
}

// ---- Keys.

void SimulatedParking::Release() {
  if (!release_.is_sending()) return Read();
  const std::optional<StoredBatch::Result> result = release_.TakeResult();
  if (!result) return release_.Step();
  Mark(release_.rows(), *result);
  release_.Send({});
}

// Those that fail are dead again.
void SimulatedParking::Mark(const SimulatedParkedTable::Rows& rows,
                            const StoredBatch::Result& result) {
  for (const size_t row : result.sent) table_.Release(rows[row].first);
  for (const StoredBatch::Failure& failure : result.failed) {
    world_.Note(relay_, "event {} fails again", rows[failure.row].second.event);
    table_.Fail(rows[failure.row].first);
  }
}

// Something may happen before what was read is applied.
void SimulatedParking::Read() {
  parked_keys_.BeginReading();
  auto rows = table_.NextToSend("", std::min(kMaxBatch, release_.max_rows()),
                                checkpoints_.settled_through(), held());
  reading_ = table_.Read(rows);
  DescribeTopics(*reading_);
  has_topics_ = table_.HasTopics();
  release_.Send(std::move(rows));
}

SimulatedParkedTable::Held SimulatedParking::held() const {
  return {!parked_keys_.lanes().empty(),
          has_topics_ || !parked_keys_.topics().empty()};
}

void SimulatedParking::Apply() {
  const size_t keys = parked_keys_.lanes().size();
  const size_t topics = parked_keys_.topics().size();
  if (parked_keys_.OnRead(*reading_)) sender_.OnParkingCapacity();
  if (parked_keys_.lanes().size() < keys) world_.Note(relay_, "releases a key");
  if (parked_keys_.topics().size() < topics)
    world_.Note(relay_, "releases a topic");
  reading_.reset();
}

// ---- Isolated topics.

void SimulatedParking::DescribeTopics(ParkedReading& reading) const {
  for (const Drain& drain : drains_) {
    const size_t free = table_.CountFree(drain.topic);
    if (free == 0) continue;
    reading.waiting_topics.insert(drain.topic);
    const bool is_last =
        drain.release.is_sending() && drain.release.rows().size() >= free;
    if (is_last && drain.is_moving) reading.leaving_topics.insert(drain.topic);
  }
}

void SimulatedParking::StepDrain(Drain& drain) {
  if (!drain.release.is_sending()) return SendToTopic(drain);
  const std::optional<StoredBatch::Result> result = drain.release.TakeResult();
  if (!result) return drain.release.Step();
  // Before the row is changed: its key must never be thought free.
  const SimulatedParkedTable::Rows& rows = drain.release.rows();
  for (const StoredBatch::Failure& failure : result->failed) {
    const auto& [position, row] = rows[failure.row];
    world_.Note(relay_, "event {} of an isolated topic is dead", row.event);
    parked_keys_.Hold(SimulatedParkedTable::LaneOfKey(row.key), position);
  }
  Mark(rows, *result);
  drain.is_moving = result->trouble.ok();
  drain.release.Send({});
}

void SimulatedParking::SendToTopic(Drain& drain) {
  if (!parked_keys_.topics().Contains(drain.topic)) {
    drain.is_moving = false;
    return;
  }
  const size_t limit = std::min(kMaxBatch, drain.release.max_rows());
  drain.release.Send(table_.NextToSend(drain.topic, limit,
                                       checkpoints_.settled_through(), held()));
}

// ---- Dead letters.

void SimulatedParking::StepLetters() {
  if (!retries_.is_sending()) {
    const size_t limit = std::min(kMaxBatch, retries_.max_rows());
    return retries_.Send(table_.LettersToSend(limit));
  }
  const std::optional<StoredBatch::Result> result = retries_.TakeResult();
  if (!result) return retries_.Step();
  Mark(retries_.rows(), *result);
  retries_.Send({});
}

void SimulatedParking::Abandon() {
  release_.Abandon();
  retries_.Abandon();
  for (Drain& drain : drains_) {
    drain.release.Abandon();
    drain.is_moving = false;
  }
  reading_.reset();
}

}  // namespace walpost::sim
