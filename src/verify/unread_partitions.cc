#include "verify/unread_partitions.h"

#include <algorithm>

#include "fmt/format.h"

namespace walpost {

void UnreadPartitions::Add(std::string topic, int32_t partition, int64_t begin,
                           int64_t end) {
  if (begin >= end) return;
  unread_[{std::move(topic), partition}] = {begin, end, false};
}

void UnreadPartitions::OnRecord(std::string_view topic, int32_t partition,
                                int64_t offset) {
  Advance(topic, partition, offset + 1, /*is_held_up=*/false);
}

// The markers of transactions, and what compaction has removed, count as read.
void UnreadPartitions::OnEnd(std::string_view topic, int32_t partition,
                             int64_t offset) {
  Advance(topic, partition, offset, /*is_held_up=*/true);
}

void UnreadPartitions::Advance(std::string_view topic, int32_t partition,
                               int64_t next, bool is_held_up) {
  const auto found = unread_.find({std::string(topic), partition});
  if (found == unread_.end()) return;
  State& state = found->second;
  if (next >= state.end) {
    unread_.erase(found);
    return;
  }
  state.next = next;
  state.is_held_up = is_held_up;
}

bool UnreadPartitions::AwaitOnlyTransactions() const {
  return std::all_of(unread_.begin(), unread_.end(), [](const auto& partition) {
    return partition.second.is_held_up;
  });
}

std::string UnreadPartitions::Describe() const {
  const auto& [place, state] = *unread_.begin();
  std::string text = fmt::format("topic {}[{}] at offset {} of {}", place.first,
                                 place.second, state.next, state.end);
  if (unread_.size() > 1)
    text += fmt::format(" and {} more", unread_.size() - 1);
  return text;
}

}  // namespace walpost
