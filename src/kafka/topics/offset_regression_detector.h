// OffsetRegressionDetector: the newest acknowledged offset of each partition,
// across several producers.
//
// A partition only grows, and a topic only gets more partitions. An
// acknowledgement at an offset that was given before, or a topic with fewer
// partitions, means that the topic was deleted and created again, that another
// Kafka answers at the same address, or that the partition was truncated:
// acknowledged records are not there any more (P9).
//
// Owned by whoever replaces the producers; outlives them. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "delivery/named_counts.h"

namespace walpost {

class PartitionOffsets {
 public:
  // Notes the number of partitions. Returns the earlier number if it has
  // changed; else 0.
  int32_t SetCount(int32_t count) {
    const int32_t before = std::exchange(count_, count);
    return before == count ? 0 : before;
  }

  // Notes an acknowledgement. Returns the newest earlier offset if this one is
  // not after it; else -1.
  int64_t Advance(int32_t partition, int64_t offset) {
    const auto index = static_cast<size_t>(partition);
    if (index >= newest_.size()) newest_.resize(index + 1, -1);
    const int64_t before = newest_[index];
    if (offset <= before) return before;
    newest_[index] = offset;
    ++acknowledged_;
    return -1;
  }

  // Adds the acknowledgements of another client that wrote before or after, not
  // meanwhile. Clients learn the number of partitions at different times: that
  // of the other one is left out.
  void Add(const PartitionOffsets& other) {
    const size_t size = other.newest_.size();
    if (size > newest_.size()) newest_.resize(size, -1);
    for (size_t i = 0; i < size; ++i) {
      newest_[i] = std::max(newest_[i], other.newest_[i]);
    }
  }

  // True if a record has been acknowledged.
  bool has_any() const { return !newest_.empty(); }

  // Acknowledgements, without those that were added from another client.
  uint64_t acknowledged() const { return acknowledged_; }

  // By partition; -1: no record there has been acknowledged.
  const std::vector<int64_t>& newest() const { return newest_; }

 private:
  std::vector<int64_t> newest_;  // -1: none yet
  int32_t count_ = 0;            // 0: not known yet
  uint64_t acknowledged_ = 0;
};

class OffsetRegressionDetector {
 public:
  // Valid as long as this object.
  PartitionOffsets& Of(const std::string& topic) {
    const auto [found, is_new] = topics_.try_emplace(topic);
    if (is_new) in_order_.push_back(&*found);
    return found->second;
  }

  // Calls visit(topic, partition, newest offset) for each partition with an
  // acknowledged record.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const auto& [topic, offsets] : topics_) {
      const std::vector<int64_t>& newest = offsets.newest();
      for (size_t i = 0; i < newest.size(); ++i) {
        if (newest[i] >= 0) visit(topic, static_cast<int32_t>(i), newest[i]);
      }
    }
  }
  // Topics with acknowledged records. Valid until Forget.
  std::vector<std::string_view> Acknowledged() const {
    std::vector<std::string_view> names;
    for (const auto& [topic, offsets] : topics_) {
      if (offsets.has_any()) names.push_back(topic);
    }
    return names;
  }
  // Acknowledgements by topic, in the order of Of.
  NamedCounts Counts() const {
    NamedCounts counts;
    for (const auto* topic : in_order_) {
      counts.Add(topic->first, topic->second.acknowledged());
    }
    return counts;
  }
  // -1: no record there has been acknowledged.
  int64_t Newest(const std::string& topic, int32_t partition) const {
    const auto found = topics_.find(topic);
    if (found == topics_.end()) return -1;
    const std::vector<int64_t>& newest = found->second.newest();
    const auto index = static_cast<size_t>(partition);
    return index < newest.size() ? newest[index] : -1;
  }

  // Later acknowledgements belong to another Kafka.
  void Forget() {
    in_order_.clear();
    topics_.clear();
  }

 private:
  using Topics = absl::node_hash_map<std::string, PartitionOffsets>;

  Topics topics_;
  std::vector<const Topics::value_type*> in_order_;
};

}  // namespace walpost
