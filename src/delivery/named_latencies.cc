#include "delivery/named_latencies.h"

#include <algorithm>
#include <numeric>

namespace walpost {

uint64_t NamedLatencies::Latencies::count() const {
  return std::accumulate(buckets.begin(), buckets.end(), uint64_t{0});
}

NamedLatencies::Index NamedLatencies::IndexOf(std::string_view name) {
  const auto found = indexes_.find(name);
  if (found != indexes_.end()) return found->second;
  if (named_.size() == kMaxNames || name == NamedCounts::kOthers) {
    has_others_ = true;
    return kOthersIndex;
  }
  const auto index = static_cast<Index>(named_.size());
  named_.push_back({std::string(name), Latencies()});
  indexes_.emplace(std::string(name), index);
  return index;
}

void NamedLatencies::Record(Index index, std::chrono::microseconds latency,
                            uint64_t times) {
  Latencies& latencies =
      index == kOthersIndex ? others_ : named_[index].latencies;
  const auto bucket = std::ranges::lower_bound(kUpperBounds, latency);
  latencies.buckets[static_cast<size_t>(bucket - kUpperBounds.begin())] +=
      times;
  latencies.sum += std::max(latency, std::chrono::microseconds(0)) *
                   static_cast<int64_t>(times);
}

}  // namespace walpost
