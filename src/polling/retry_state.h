// RetryState: rejected rows of a table that has no column for the time of the
// next attempt. The poller remembers them, and does not claim them before that.
// Another poller, or this one after a restart, tries them again.
//
// Pure: the caller passes the time.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/time.h"

namespace walpost {

class RetryState {
 public:
  // Above this limit the row with the next attempt is forgotten, and tried
  // sooner.
  static constexpr size_t kMaxRows = 5'000;

  size_t size() const { return rows_.size(); }

  // Number of earlier rejections.
  uint64_t attempts(const std::string& id) const {
    const auto found = rows_.find(id);
    return found == rows_.end() ? 0 : found->second.attempts;
  }

  void OnRefused(const std::string& id, MonotonicTime retry_at) {
    if (rows_.size() >= kMaxRows && !rows_.contains(id)) {
      rows_.erase(std::ranges::min_element(
          rows_, {}, [](const auto& entry) { return entry.second.retry_at; }));
    }
    Row& row = rows_[id];
    ++row.attempts;
    row.retry_at = retry_at;
  }
  // Published or given up.
  void Forget(const std::string& id) { rows_.erase(id); }

  // Rows that must not be claimed now.
  std::vector<std::string> Waiting(MonotonicTime now) const {
    std::vector<std::string> waiting;
    for (const auto& [id, row] : rows_) {
      if (row.retry_at > now) waiting.push_back(id);
    }
    return waiting;
  }

 private:
  struct Row {
    uint64_t attempts = 0;
    MonotonicTime retry_at{};
  };
  absl::flat_hash_map<std::string, Row> rows_;
};

}  // namespace walpost
