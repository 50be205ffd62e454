#include "health/update_detector.h"

#include <utility>

#include "fmt/format.h"

namespace walpost {

UpdateDetector::UpdateDetector(std::vector<std::string> tables) {
  for (std::string& name : tables)
    tables_.emplace_back().name = std::move(name);
}

void UpdateDetector::Observe(const std::vector<Total>& totals,
                             MonotonicTime now) {
  std::vector<uint64_t> grown(tables_.size());
  std::map<uint64_t, uint64_t> before;
  before.swap(totals_);
  for (const Total& total : totals) {
    Table& table = tables_[total.source];
    table.was_updated = table.was_updated || total.updates > 0;
    const auto known = before.find(total.relation);
    if (known != before.end() && total.updates > known->second) {
      grown[total.source] += total.updates - known->second;
    }
    totals_[total.relation] = total.updates;
  }
  for (size_t i = 0; i < tables_.size(); ++i) {
    Table& table = tables_[i];
    table.updates += grown[i];
    if (grown[i] == 0) {
      table.growing_since.reset();
    } else if (!table.growing_since) {
      table.growing_since = now;
    }
  }
}

bool UpdateDetector::IsDue(size_t source, uint64_t taken,
                           MonotonicTime now) const {
  const Table& table = tables_[source];
  if (!table.was_updated || taken == 0) return false;
  const bool is_known =
      table.compared_events == taken && table.compared_updates == table.updates;
  if (is_known) return false;
  if (table.growing_since && now - *table.growing_since < kMaxWait) {
    return false;
  }
  return !table.next_comparison || now >= *table.next_comparison;
}

std::optional<std::string> UpdateDetector::OnCompared(
    size_t source, uint64_t taken, const absl::StatusOr<Comparison>& found,
    MonotonicTime now) {
  Table& table = tables_[source];
  table.compared_events = taken;
  table.compared_updates = table.updates;
  table.next_comparison = now + kMinPause;
  if (!found.ok()) {
    table.next_comparison = now + kPauseAfterFailure;
    if (std::exchange(table.has_told_failure, true)) return std::nullopt;
    return fmt::format(
        "table {}: UPDATE has changed {} rows since walpost started, and "
        "published events cannot be compared with their rows: {}",
        table.name, table.updates, std::string(found.status().message()));
  }
  if (found->different == 0) return std::nullopt;
  const bool is_silent =
      table.warned_at && now - *table.warned_at < kMinSilence;
  if (is_silent && table.updates < 2 * table.warned_updates) {
    return std::nullopt;
  }
  table.warned_at = now;
  table.warned_updates = table.updates;
  return fmt::format(
      "table {}: rows are changed after their INSERT, and what was published "
      "is the first version: {} of {} that were compared differ from their "
      "records, and UPDATE has changed {} rows since walpost started. Insert "
      "whole rows instead of completing them by UPDATE, as ORMs do; walpost "
      "verify -c FILE names those that differ",
      table.name, found->different, found->rows, table.updates);
}

std::vector<UpdatedRows> UpdateDetector::counts() const {
  std::vector<UpdatedRows> counts;
  for (const Table& table : tables_) {
    counts.push_back({table.name, table.updates});
  }
  return counts;
}

}  // namespace walpost
