#include "polling/rows_in_flight.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace walpost {

const RowsInFlight::Row& RowsInFlight::Find(uint64_t key) const {
  const auto found = in_flight_.find(key);
  WALPOST_CHECK(found != in_flight_.end());
  return found->second;
}

RowsInFlight::Row RowsInFlight::Take(uint64_t key) {
  const auto found = in_flight_.find(key);
  WALPOST_CHECK(found != in_flight_.end());
  Row row = std::move(found->second);
  in_flight_.erase(found);
  return row;
}

bool RowsInFlight::IsInFlightWithin(
    const absl::flat_hash_set<std::string>& ids) const {
  return std::ranges::all_of(in_flight_, [&ids](const auto& entry) {
    return ids.contains(entry.second.id);
  });
}

MonotonicTime RowsInFlight::last_sent() const {
  MonotonicTime last{};
  for (const auto& [key, row] : in_flight_) last = std::max(last, row.sent_at);
  return last;
}

std::vector<std::string> RowsInFlight::Ids() const {
  std::vector<std::string> ids;
  for (const auto& [key, row] : in_flight_) ids.push_back(row.id);
  for (const Row& row : finished_.acknowledged) ids.push_back(row.id);
  AddIds(finished_.set_aside, ids);
  AddIds(finished_.refused, ids);
  for (const Row& row : finished_.returned) ids.push_back(row.id);
  return ids;
}

RowsInFlight::Finished RowsInFlight::TakeFinished() {
  return std::exchange(finished_, {});
}

std::vector<std::string> IdsOf(const std::vector<RowsInFlight::Row>& rows) {
  std::vector<std::string> ids;
  for (const RowsInFlight::Row& row : rows) ids.push_back(row.id);
  return ids;
}

void AddIds(const std::vector<RowsInFlight::RejectedRow>& refusals,
            std::vector<std::string>& ids) {
  for (const RowsInFlight::RejectedRow& refusal : refusals) {
    ids.push_back(refusal.row.id);
  }
}

}  // namespace walpost
