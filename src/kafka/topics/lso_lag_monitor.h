// LsoLagMonitor: acknowledged records that consumers of committed records do
// not get, because a transaction is open before them.
//
//   0 ──── given to all ────┬──── hidden ────┬─────
//                       stable end       our newest record
//
// Brokers lose track of a transaction if a partition has no leader when it ends
// (Kafka 4.3). Then the partition stays like that until an operator ends it.
//
// Owned by whoever replaces the producers; outlives them. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"

namespace walpost {

class LsoLagMonitor {
 public:
  using Place = std::pair<std::string, int32_t>;  // topic and partition

  // `stable_end`: the first offset that is hidden, if anything is. `newest`:
  // that of our newest acknowledged record there.
  void Observe(const Place& place, int64_t stable_end, int64_t newest,
               MonotonicTime now) {
    if (newest < stable_end) {
      waits_.erase(place);
      return;
    }
    const auto [wait, is_new] = waits_.try_emplace(place, stable_end, now);
    if (!is_new && wait->second.from != stable_end) {
      wait->second = {stable_end, now};
    }
  }

  struct Wait {
    Wait(int64_t offset, MonotonicTime begin) : from(offset), since(begin) {}

    int64_t from;
    MonotonicTime since;  // it stands there, as far as this process has seen
  };
  // The partition that stands for longest; nullopt: none does.
  std::optional<std::pair<Place, Wait>> Longest() const {
    std::optional<std::pair<Place, Wait>> longest;
    for (const auto& wait : waits_) {
      if (longest && longest->second.since <= wait.second.since) continue;
      longest.emplace(wait);
    }
    return longest;
  }

  // Call when the cluster was replaced: earlier observations no longer apply.
  void Forget() { waits_.clear(); }

 private:
  std::map<Place, Wait> waits_;
};

}  // namespace walpost
