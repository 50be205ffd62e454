#include "sim/simulated_release.h"

#include <utility>

namespace walpost::sim {

void SimulatedRelease::Send(SimulatedParkedTable::Rows rows) {
  rows_ = std::move(rows);
  if (rows_.empty()) return;
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

bool SimulatedRelease::TakeAnswers() {
  for (const auto& channel : channels_) {
    while (!channel->answers.empty()) {
      const auto [request, answer] = channel->answers.front();
      channel->answers.pop_front();
      ++answered_;
      if (answer != Channel::Answer::kWritten) continue;
      table_.Release(rows_[request.sequence].first);
    }
  }
  if (answered_ < rows_.size()) return false;
  Abandon();
  return true;
}

void SimulatedRelease::Abandon() {
  for (auto& channel : channels_) {
    if (channel != nullptr) channel->is_abandoned = true;
    channel.reset();
  }
  rows_.clear();
}

}  // namespace walpost::sim
