#include "sim/simulated_parked_table.h"

#include <algorithm>
#include <cstdlib>

namespace walpost::sim {

ParkedSoFar SimulatedParkedTable::Load(Lsn from) const {
  ParkedSoFar so_far;
  std::set<int> keys;
  for (const auto& [position, row] : rows_) {
    if (Waits(row)) {
      if (!keys.insert(row.key).second) continue;
      so_far.lanes.push_back({"order", std::to_string(row.key), position});
    } else if (position.commit_lsn >= from) {
      const bool is_released = row.state == ParkedState::kReleased;
      (is_released ? so_far.released : so_far.discarded).insert(position);
    }
  }
  return so_far;
}

void SimulatedParkedTable::Insert(const ParkedEvent& event) {
  const uint64_t id =
      std::strtoull(event.content.payload->c_str(), nullptr, 10);
  const int key = std::atoi(event.content.aggregate_id->c_str());
  rows_.try_emplace(event.position, Row{id, key, event.state});
  checker_.OnParked(id);
}

SimulatedParkedTable::Rows SimulatedParkedTable::NextToSend(
    size_t limit, const Position& through) const {
  Rows rows;
  std::set<int> blocked;
  for (const auto& [position, row] : rows_) {
    if (!Waits(row)) continue;
    if (position > through) break;
    if (row.state == ParkedState::kDead) blocked.insert(row.key);
    if (blocked.contains(row.key) || rows.size() == limit) continue;
    rows.emplace_back(position, row);
  }
  return rows;
}

ParkedReading SimulatedParkedTable::Read(const Rows& leaving) const {
  ParkedReading reading;
  std::map<std::string, size_t> counts;
  for (const auto& [position, row] : rows_) {
    if (!Waits(row)) continue;
    reading.waiting.insert(LaneOfKey(row.key));
    ++counts[LaneOfKey(row.key)];
  }
  for (const auto& [position, row] : leaving) {
    if (--counts[LaneOfKey(row.key)] == 0) {
      reading.leaving.insert(LaneOfKey(row.key));
    }
  }
  return reading;
}

void SimulatedParkedTable::Decide() {
  Rows dead;
  for (const auto& [position, row] : rows_) {
    if (row.state == ParkedState::kDead) dead.emplace_back(position, row);
  }
  if (dead.empty()) return;
  const auto& [position, row] = dead[world_.random.Below(dead.size())];
  if (world_.random.OneIn(3)) {
    world_.Note(kNobody, "event {} is discarded", row.event);
    rows_.at(position).state = ParkedState::kDiscarded;
    checker_.OnDiscarded(row.event);
  } else {
    world_.Note(kNobody, "event {} is to be retried", row.event);
    rows_.at(position).state = ParkedState::kRetry;
  }
}

bool SimulatedParkedTable::IsDrained() const {
  return std::ranges::none_of(
      rows_, [](const auto& entry) { return Waits(entry.second); });
}

}  // namespace walpost::sim
