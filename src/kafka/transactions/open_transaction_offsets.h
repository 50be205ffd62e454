// OpenTransactionOffsets: partitions of a topic in which a transaction may be
// open that began before a moment.
//
//   0 ──── decided ────┬──── a transaction is open ────┬─── later ───
//                  stable end                  end at that moment
//
// A transaction that begins later lies behind the end, and is not waited for.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace walpost {

class OpenTransactionOffsets {
 public:
  // `end`: of the log of the partition at that moment.
  void Add(int32_t partition, int64_t end) { ends_[partition] = {end, 0}; }

  // `stable_end`: the first offset that is not decided, if any is.
  void Observe(int32_t partition, int64_t stable_end) {
    const auto found = ends_.find(partition);
    if (found == ends_.end()) return;
    found->second.stable = stable_end;
    if (stable_end >= found->second.end) ends_.erase(found);
  }

  bool empty() const { return ends_.empty(); }

  template <typename Visit>
  void ForEachPartition(const Visit& visit) const {
    for (const auto& [partition, end] : ends_) visit(partition);
  }

  struct Open {
    int32_t partition;
    int64_t from;  // the stable end, as observed last
  };
  // nullopt: there is none.
  std::optional<Open> First() const {
    if (ends_.empty()) return std::nullopt;
    return Open{ends_.begin()->first, ends_.begin()->second.stable};
  }

 private:
  struct End {
    int64_t end;
    int64_t stable;
  };
  std::map<int32_t, End> ends_;
};

}  // namespace walpost
