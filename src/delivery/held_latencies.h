// HeldLatencies: commit times of events that the brokers have, and consumers do
// not see yet, because their Kafka transaction is open.
//
// Events of one transaction in Postgres have one commit time, so a run of them
// is one entry. Pure; a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "delivery/latency_histogram.h"

namespace walpost {

class HeldLatencies {
 public:
  // About 1.5 MiB. Beyond it, an event counts as one of the last run.
  static constexpr size_t kMaxRuns = 100'000;

  void Add(WallTime commit_time) {
    const bool is_full = runs_.size() == kMaxRuns;
    if (!runs_.empty() && (is_full || runs_.back().at == commit_time)) {
      ++runs_.back().events;
    } else {
      runs_.push_back({commit_time, 1});
    }
  }

  // The events are visible to consumers now.
  void Record(WallTime now, LatencyHistogram& histogram) {
    for (const Run& run : runs_) histogram.Record(now - run.at, run.events);
    runs_.clear();
  }

  // The transaction of these events was aborted.
  void Clear() { runs_.clear(); }

 private:
  struct Run {
    WallTime at;
    uint64_t events;
  };
  std::vector<Run> runs_;
};

}  // namespace walpost
