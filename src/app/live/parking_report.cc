// ParkedEventService: what it has read from the table, summed up.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/stored/parked_event_service.h"

namespace walpost {

ParkedReading ParkedEventService::Describe(
    const std::vector<ParkedRow>& rows) const {
  struct Count {
    uint64_t events = 0;
    uint64_t dead = 0;
  };
  const auto name = [this](const OwnValue& type, const std::string& key) {
    return LaneOf(parked_keys_.scope(), type, key);
  };
  std::map<std::string, Count> counts;
  for (const ParkedLane& lane : lanes_) {
    Count& count = counts[name(lane.aggregate_type, lane.key)];
    count.events += lane.events;
    count.dead += lane.dead;
  }
  ParkedReading reading;
  for (const auto& [lane, count] : counts) reading.waiting.insert(lane);
  for (const ParkedRow& row : rows) {
    const DeadLetter& content = row.content;
    const std::string lane =
        name(content.aggregate_type, content.aggregate_id.value_or(""));
    Count& count = counts[lane];
    if (--count.events == 0 && count.dead == 0) reading.leaving.insert(lane);
  }
  return reading;
}

namespace {

// Statements that take no longer need no explanation.
constexpr std::chrono::seconds kWatchAfter{2};

}  // namespace

int ParkedEventService::waiting_pid() const {
  const std::optional<ParkingTable::Wait> wait = table_.wait();
  const MonotonicTime now = std::chrono::steady_clock::now();
  return wait && now - wait->since > kWatchAfter ? wait->pid : 0;
}

ParkingReport ParkedEventService::report() const {
  ParkingReport report;
  const MonotonicTime now = std::chrono::steady_clock::now();
  if (const std::optional<ParkingTable::Wait> wait = table_.wait()) {
    report.table = config_.parking.table;
    report.unanswered_for =
        std::chrono::duration_cast<std::chrono::milliseconds>(now -
                                                              wait->since);
    report.unstored = parked_keys_.queued();
  }
  if (release_ != nullptr) report.held_up = release_->waits_for(now);
  if (report.held_up.empty()) report.held_up = retries_.waits_for(now);
  report.topics = parked_keys_.topics().Names();
  if (!report.topics.empty()) {
    for (const IsolatedTopic& topic : topics_) {
      report.isolated_events += topic.events;
      report.isolated_bytes += topic.bytes;
      report.oldest_isolated = std::max(report.oldest_isolated, topic.age);
    }
  }
  report.keys = parked_keys_.lanes().size();
  if (report.keys == 0) return report;
  for (const ParkedLane& lane : lanes_) {
    report.events += lane.events;
    report.dead += lane.dead;
    report.oldest = std::max(report.oldest, lane.age);
  }
  report.AddUncounted(lanes_.size());
  return report;
}

}  // namespace walpost
