#include "sim/simulated_parked_table.h"

#include <algorithm>
#include <cstdlib>

namespace walpost::sim {

ParkedSoFar SimulatedParkedTable::Load(Lsn from) const {
  ParkedSoFar so_far;
  std::set<int> keys;
  for (const auto& [position, row] : rows_) {
    if (Waits(row) && !row.topic.empty()) {
      const ParkedSoFar::Span span{{position}, position};
      so_far.topics.try_emplace(row.topic, span).first->second.last = position;
    } else if (Waits(row)) {
      if (!keys.insert(row.key).second) continue;
      so_far.lanes.push_back({"order", std::to_string(row.key), {position}});
    } else if (position.commit_lsn >= from) {
      so_far.settled.Add(position, {row.digest, {row.state, 0}});
    }
  }
  return so_far;
}

void SimulatedParkedTable::Insert(const ParkedEvent& event) {
  const uint64_t id =
      std::strtoull(event.content.payload->c_str(), nullptr, 10);
  const int key = std::atoi(event.content.aggregate_id->c_str());
  const auto [row, is_new] = rows_.try_emplace(
      event.position, Row{id, key, event.state, event.topic, event.digest,
                          rows_.size(), event.content});
  checker_.OnParked(id);
  if (is_new && IsLetter(row->second)) checker_.OnLetter(id);
}

SimulatedParkedTable::Rows SimulatedParkedTable::LettersToSend(
    size_t limit) const {
  Rows rows;
  for (const auto& [position, row] : rows_) {
    const bool is_wanted = row.state == ParkedState::kLetterRetry;
    if (is_wanted && rows.size() < limit) rows.emplace_back(position, row);
  }
  return rows;
}

void SimulatedParkedTable::Release(const Position& position) {
  Row& row = rows_.at(position);
  row.state =
      IsLetter(row) ? ParkedState::kLetterRetried : ParkedState::kReleased;
}

void SimulatedParkedTable::Fail(const Position& position) {
  Row& row = rows_.at(position);
  row.state = IsLetter(row) ? ParkedState::kLetter : ParkedState::kDead;
  row.topic.clear();
}

SimulatedParkedTable::Rows SimulatedParkedTable::NextToSend(
    const std::string& topic, size_t limit, const Position& through,
    const Held& held) const {
  const auto is_obstacle = [&](const Row& row) {
    if (!topic.empty()) return held.keys && row.topic.empty();
    const bool is_dead = row.state == ParkedState::kDead;
    return is_dead || (held.topics && !row.topic.empty());
  };
  Rows rows;
  std::set<int> blocked;
  for (const auto& [position, row] : rows_) {
    if (!Waits(row)) continue;
    if (position > through) break;
    if (is_obstacle(row)) blocked.insert(row.key);
    const bool is_wanted = row.topic == topic && !blocked.contains(row.key);
    if (is_wanted && rows.size() < limit) rows.emplace_back(position, row);
  }
  return rows;
}

ParkedReading SimulatedParkedTable::Read(const Rows& leaving) const {
  ParkedReading reading;
  std::map<std::string, size_t> counts;
  for (const auto& [position, row] : rows_) {
    if (!Waits(row)) continue;
    if (row.topic.empty()) {
      reading.waiting.insert(LaneOfKey(row.key));
      ++counts[LaneOfKey(row.key)];
    } else {
      reading.isolated_bytes += ParkedEvent::kOverheadBytes;
    }
  }
  for (const auto& [position, row] : leaving) {
    if (--counts[LaneOfKey(row.key)] == 0) {
      reading.leaving.insert(LaneOfKey(row.key));
    }
  }
  return reading;
}

bool SimulatedParkedTable::HasTopics() const {
  return std::ranges::any_of(rows_, [](const auto& entry) {
    return Waits(entry.second) && !entry.second.topic.empty();
  });
}

size_t SimulatedParkedTable::CountFree(const std::string& topic) const {
  size_t count = 0;
  std::set<int> blocked;
  for (const auto& [position, row] : rows_) {
    if (!Waits(row)) continue;
    if (row.topic.empty()) blocked.insert(row.key);
    if (row.topic == topic && !blocked.contains(row.key)) ++count;
  }
  return count;
}

void SimulatedParkedTable::Decide() {
  Rows dead;
  for (const auto& [position, row] : rows_) {
    const bool is_dead =
        row.state == ParkedState::kDead || row.state == ParkedState::kLetter;
    if (is_dead) dead.emplace_back(position, row);
  }
  if (dead.empty()) return;
  const auto& [position, row] = dead[world_.random.Below(dead.size())];
  if (world_.random.OneIn(3)) {
    world_.Note(kNobody, "event {} is discarded", row.event);
    rows_.at(position).state =
        IsLetter(row) ? ParkedState::kLetterDiscarded : ParkedState::kDiscarded;
    checker_.OnDiscarded(row.event);
  } else {
    world_.Note(kNobody, "event {} is to be retried", row.event);
    rows_.at(position).state =
        IsLetter(row) ? ParkedState::kLetterRetry : ParkedState::kRetry;
  }
}

bool SimulatedParkedTable::IsDrained() const {
  return std::ranges::none_of(rows_, [](const auto& entry) {
    const Row& row = entry.second;
    return Waits(row) || row.state == ParkedState::kLetter ||
           row.state == ParkedState::kLetterRetry;
  });
}

}  // namespace walpost::sim
