#include "delivery/key_order.h"

#include "absl/hash/hash.h"

namespace walpost {

KeyOrder::Lane KeyOrder::LaneOf(std::string_view topic, const Value& key) {
  if (!key) return std::nullopt;
  return absl::HashOf(topic, *key);
}

bool KeyOrder::Add(Lane lane, Sequence sequence) {
  if (!lane) return true;
  const auto [found, is_first] = lanes_.try_emplace(*lane);
  if (is_first) return true;
  found->second.push_back(sequence);
  ++waiting_;
  return false;
}

std::optional<Sequence> KeyOrder::Next(Lane lane) {
  if (!lane) return std::nullopt;
  const auto found = lanes_.find(*lane);
  if (found == lanes_.end()) return std::nullopt;
  if (found->second.empty()) {
    lanes_.erase(found);
    return std::nullopt;
  }
  const Sequence next = found->second.front();
  found->second.pop_front();
  --waiting_;
  return next;
}

void KeyOrder::Clear() {
  lanes_.clear();
  waiting_ = 0;
}

}  // namespace walpost
