#include "sim/simulated_parking.h"

#include <algorithm>

namespace walpost::sim {
namespace {

constexpr size_t kMaxBatch = 3;

OutboxOptions Outbox() {
  OutboxOptions options;
  options.tables.resize(1);
  options.messages.prefix = "outbox";
  return options;
}

}  // namespace

SimulatedParking::SimulatedParking(World& world, SimulatedParkedTable& table,
                                   SimulatedBrokers& brokers, int relay,
                                   Pipeline& pipeline)
    : world_(world),
      table_(table),
      brokers_(brokers),
      relay_(relay),
      pipeline_(pipeline),
      lot_(ParkingOptions(), Outbox(), pipeline.builder().routes()) {
  pipeline.SetParking(&lot_);
}

void SimulatedParking::Open(Lsn from) {
  Abandon();
  session_ = table_.Open();
  lot_.Load(table_.Load(from), [this](Sequence sequence) {
    return pipeline_.window().Find(sequence) != nullptr;
  });
}

void SimulatedParking::Step(RelaySession& session, RecordReports& reports) {
  if (session_ == 0) return;
  switch (world_.random.Below(8)) {
    case 0:
    case 1:
    case 2:
      return Store(session, reports);
    case 3:
      if (lot_.GiveUpWaiting()) pipeline_.OnRoom();
      return;
    case 4:
      if (world_.random.OneIn(50)) Abandon();
      return;
    default:
      if (!table_.IsOpen(session_)) return Lose(session);
      if (!rows_.empty()) return TakeAnswers();
      return reading_ ? Apply() : Read();
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
  session.OnLost(absl::UnavailableError("the table is lost"));
}

// Something may happen before what was read is applied.
void SimulatedParking::Read() {
  lot_.BeginReading();
  rows_ = table_.NextToSend(kMaxBatch, pipeline_.settled_through());
  reading_ = table_.Read(rows_);
  FailSome();
  if (!rows_.empty()) Send();
}

// Some are not fixed, and are dead again: nothing of their keys is sent.
void SimulatedParking::FailSome() {
  for (size_t i = 0; i < rows_.size(); ++i) {
    const auto [position, row] = rows_[i];
    if (row.state != ParkedState::kRetry || !world_.random.OneIn(6)) continue;
    world_.Note(relay_, "event {} fails again", row.event);
    table_.Fail(position);
    const auto first = rows_.begin() + static_cast<ptrdiff_t>(i);
    rows_.erase(std::remove_if(first, rows_.end(),
                               [key = row.key](const auto& other) {
                                 return other.second.key == key;
                               }),
                rows_.end());
    --i;
  }
}

void SimulatedParking::Apply() {
  const size_t held = lot_.lanes().size();
  if (lot_.OnRead(*reading_)) pipeline_.OnParkingRoom();
  if (lot_.lanes().size() < held) world_.Note(relay_, "releases a key");
  reading_.reset();
}

void SimulatedParking::Send() {
  const uint64_t producer = brokers_.NextProducer();
  for (size_t i = 0; i < kPartitions; ++i) {
    channels_[i] = brokers_.Open(relay_, producer, i);
  }
  answered_ = 0;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const SimulatedParkedTable::Row& row = rows_[i].second;
    world_.Note(relay_, "sends parked event {}", row.event);
    channels_[PartitionOf(row.key)]->requests.push_back(
        {i, row.event, false, /*is_released=*/true});
  }
}

// A row that is rejected is dead again, and those behind it stay.
void SimulatedParking::TakeAnswers() {
  if (reading_) Apply();
  for (const auto& channel : channels_) {
    while (!channel->answers.empty()) {
      const auto [request, answer] = channel->answers.front();
      channel->answers.pop_front();
      const Position& position = rows_[request.sequence].first;
      ++answered_;
      if (answer == Channel::Answer::kWritten) table_.Release(position);
    }
  }
  if (answered_ == rows_.size()) Abandon();
}

void SimulatedParking::Abandon() {
  for (auto& channel : channels_) {
    if (channel != nullptr) channel->is_abandoned = true;
    channel.reset();
  }
  rows_.clear();
  reading_.reset();
}

}  // namespace walpost::sim
