// HeldLatencies: commit times of events that the brokers have, and consumers do
// not see yet, because their Kafka transaction is open.
//
// Events of one transaction in Postgres have one commit time, so those of one
// label are one entry, or few. Pure; a value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "delivery/delivery_latencies.h"

namespace walpost {

class HeldLatencies {
 public:
  // About 1.5 MiB. Beyond it, an event counts as one of the last run.
  static constexpr size_t kMaxRuns = 100'000;
  // So many topics of a transaction in Postgres may take turns.
  static constexpr size_t kMaxLookedAt = 8;

  void Add(WallTime commit_time, LatencyLabel label) {
    const size_t last = runs_.size() - std::min(runs_.size(), kMaxLookedAt);
    for (size_t i = runs_.size(); i > last; --i) {
      Run& run = runs_[i - 1];
      if (run.at != commit_time) break;
      if (run.label != label) continue;
      ++run.events;
      return;
    }
    if (runs_.size() == kMaxRuns) {
      ++runs_.back().events;
    } else {
      runs_.push_back({commit_time, 1, label});
    }
  }

  // The events are visible to consumers now.
  void Record(WallTime now, DeliveryLatencies& latencies) {
    for (const Run& run : runs_) {
      latencies.Record(run.label, now - run.at, run.events);
    }
    runs_.clear();
  }

  // The transaction of these events was aborted.
  void Clear() { runs_.clear(); }

 private:
  struct Run {
    WallTime at;
    uint32_t events;
    LatencyLabel label;
  };
  std::vector<Run> runs_;
};

}  // namespace walpost
