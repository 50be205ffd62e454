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
      lot_(DrawOptions(world.random), Outbox(table.has_letters),
           sender_.builder().routes()),
      isolation_(table.has_topics ? kIsolateAfter : kNever),
      release_(world, table, brokers, relay),
      retries_(world, table, brokers, relay),
      drains_{Drain{kTopics[0], {world, table, brokers, relay}},
              Drain{kTopics[1], {world, table, brokers, relay}}} {
  sender_.SetParking(&lot_);
  lot_.SetIsolationListener(
      [this](const std::string&) { world_.Note(relay_, "isolates a topic"); });
}

void SimulatedParking::Open(Lsn from) {
  Abandon();
  session_ = table_.Open();
  has_topics_ = table_.HasTopics();
  lot_.Load(table_.Load(from), [this](Sequence sequence) {
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
  if (position && lot_.MayIsolate()) sender_.Isolate(*position);
}

void SimulatedParking::Step(RelaySession& session, RecordReports& reports) {
  if (session_ == 0) return;
  switch (world_.random.Below(10)) {
    case 0:
    case 1:
    case 2:
      return Store(session, reports);
    case 3:
      if (lot_.GiveUpWaiting()) sender_.OnCapacity();
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
      lot_.NextBatch(world_.random.Between(1, kMaxBatch), 10'000);
  if (batch.empty()) return;
  if (!table_.IsOpen(session_)) return Lose(session);
  const bool is_lost = world_.random.OneIn(30);
  if (!is_lost || world_.random.OneIn(2)) {
    for (const ParkedEvent* event : batch) table_.Insert(*event);
  }
  if (is_lost) return Lose(session);  // whether they are stored is not known
  world_.Note(relay_, "{} events are parked", batch.size());
  for (const Sequence sequence : lot_.OnStored(batch.size())) {
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
  release_.TakeAnswers();
}

// Something may happen before what was read is applied.
void SimulatedParking::Read() {
  lot_.BeginReading();
  auto rows =
      table_.NextToSend("", kMaxBatch, checkpoints_.settled_through(), held());
  reading_ = table_.Read(rows);
  DescribeTopics(*reading_);
  has_topics_ = table_.HasTopics();
  FailSome(rows);
  release_.Send(std::move(rows));
}

SimulatedParkedTable::Held SimulatedParking::held() const {
  return {!lot_.lanes().empty(), has_topics_ || !lot_.topics().empty()};
}

// Some are not fixed, and are dead again: nothing of their keys is sent.
void SimulatedParking::FailSome(SimulatedParkedTable::Rows& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto [position, row] = rows[i];
    if (row.state != ParkedState::kRetry || !world_.random.OneIn(6)) continue;
    world_.Note(relay_, "event {} fails again", row.event);
    table_.Fail(position);
    const auto first = rows.begin() + static_cast<ptrdiff_t>(i);
    rows.erase(std::remove_if(first, rows.end(),
                              [key = row.key](const auto& other) {
                                return other.second.key == key;
                              }),
               rows.end());
    --i;
  }
}

void SimulatedParking::Apply() {
  const size_t keys = lot_.lanes().size();
  const size_t topics = lot_.topics().size();
  if (lot_.OnRead(*reading_)) sender_.OnParkingCapacity();
  if (lot_.lanes().size() < keys) world_.Note(relay_, "releases a key");
  if (lot_.topics().size() < topics) world_.Note(relay_, "releases a topic");
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
  if (drain.release.TakeAnswers()) drain.is_moving = true;
}

// A row that is too large is dead, and those behind it stay.
void SimulatedParking::SendToTopic(Drain& drain) {
  if (!lot_.topics().Contains(drain.topic)) {
    drain.is_moving = false;
    return;
  }
  auto rows = table_.NextToSend(drain.topic, kMaxBatch,
                                checkpoints_.settled_through(), held());
  const auto bad = std::ranges::find_if(rows, [](const auto& entry) {
    return SimulatedBrokers::IsTooLarge(entry.second.event);
  });
  if (!rows.empty() && bad == rows.begin()) {
    const auto& [position, row] = *bad;
    world_.Note(relay_, "event {} of an isolated topic is dead", row.event);
    lot_.Hold(SimulatedParkedTable::LaneOfKey(row.key), position);
    return table_.Fail(position);
  }
  rows.erase(bad, rows.end());
  drain.release.Send(std::move(rows));
}

// ---- Dead letters.

void SimulatedParking::StepLetters() {
  if (retries_.is_sending()) {
    retries_.TakeAnswers();
    return;
  }
  auto rows = table_.LettersToSend(kMaxBatch);
  // Some are not fixed, and are dead letters again.
  std::erase_if(rows, [this](const auto& entry) {
    if (!world_.random.OneIn(6)) return false;
    world_.Note(relay_, "event {} fails again", entry.second.event);
    table_.Fail(entry.first);
    return true;
  });
  retries_.Send(std::move(rows));
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
