// UpdateDetector: notices events that were published as they were inserted, and
// whose rows UPDATE has changed since.
//
// An application that completes a row after its INSERT, as ORMs do, publishes
// the incomplete version, and a publication of inserts sends nothing that would
// show it. The statistics of the server count updates, but also those that
// change nothing of the event, such as a mark of another program. So they only
// say when to look: then some events are compared with their rows.
//
//   Observe ──▶ Due ──▶ the rows are read (MonitorSession) ──▶ OnCompared
//
// Owned by the MonitorSession. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"

namespace walpost {

// Updates of an outbox table since walpost started.
struct UpdatedRows {
  std::string table;
  uint64_t updates = 0;

  friend bool operator==(const UpdatedRows&, const UpdatedRows&) = default;
};

class UpdateDetector {
 public:
  // A burst of updates is examined when it has ended, or has lasted this long.
  static constexpr std::chrono::seconds kMaxWait{6};
  // Between two comparisons of a table; after one that failed.
  static constexpr std::chrono::seconds kMinPause{10};
  static constexpr std::chrono::minutes kPauseAfterFailure{10};
  // Between two warnings, unless the updates have doubled.
  static constexpr std::chrono::minutes kMinSilence{10};

  // The server's counts of a table or of a partition of it.
  struct Total {
    size_t source = 0;  // index of the outbox
    uint64_t relation = 0;
    uint64_t updates = 0;
  };
  struct Comparison {
    size_t rows = 0;
    size_t different = 0;
  };

  explicit UpdateDetector(std::vector<std::string> tables);

  // Another server may have other statistics: the next totals are a baseline.
  void OnConnected() { totals_.clear(); }
  // The first total of a relation is the baseline. A total that falls has begun
  // again.
  void Observe(const std::vector<Total>& totals, MonotonicTime now);

  // True if events should be compared. `taken`: PublishedSample::taken.
  bool IsDue(size_t source, uint64_t taken, MonotonicTime now) const;
  // Returns a warning, if there is something to warn of.
  std::optional<std::string> OnCompared(size_t source, uint64_t taken,
                                        const absl::StatusOr<Comparison>& found,
                                        MonotonicTime now);

  std::vector<UpdatedRows> counts() const;

 private:
  struct Table {
    std::string name;
    bool was_updated = false;  // ever
    uint64_t updates = 0;
    std::optional<MonotonicTime> growing_since;
    // When it was compared last.
    std::optional<MonotonicTime> next_comparison;
    uint64_t compared_updates = 0;
    uint64_t compared_events = 0;
    std::optional<MonotonicTime> warned_at;
    uint64_t warned_updates = 0;
    bool has_told_failure = false;
  };

  std::vector<Table> tables_;
  std::map<uint64_t, uint64_t> totals_;  // by relation
};

}  // namespace walpost
