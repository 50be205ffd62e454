#include "parking/held_keys.h"

#include <algorithm>
#include <utility>

namespace walpost {

void HeldKeys::Hold(const std::string& lane, const Position& position,
                    uint64_t end) {
  const auto [found, is_new] = lanes_.try_emplace(lane);
  OrderingKey& held = found->second;
  const bool is_known = !is_new && held.first_digest.empty();
  const bool begins = !is_known && position.commit_lsn <= held.first.commit_lsn;
  if (is_new || begins) {
    held.first = position;
    held.first_digest.clear();
  }
  held.first = std::min(held.first, position);
  held.end = std::max(held.end, end);
}

void HeldKeys::HoldFromDigest(const std::string& lane, Lsn commit_lsn,
                              std::string digest, uint64_t end) {
  lanes_.try_emplace(lane,
                     OrderingKey{{commit_lsn, 0}, std::move(digest), end});
}

bool HeldKeys::AsksForDigest(std::string_view lane,
                             const Position& position) const {
  const auto found = lanes_.find(lane);
  return found != lanes_.end() && !found->second.first_digest.empty() &&
         found->second.first.commit_lsn == position.commit_lsn;
}

bool HeldKeys::Holds(std::string_view lane, const Position& position,
                     std::string_view digest) {
  const auto found = lanes_.find(lane);
  if (found == lanes_.end() || position < found->second.first) return false;
  if (!AsksForDigest(lane, position)) return true;
  OrderingKey& held = found->second;
  if (digest != held.first_digest) return false;
  held.first = position;
  held.first_digest.clear();
  return true;
}

void HeldKeys::Close(const std::string& lane) {
  const auto found = lanes_.find(lane);
  if (found != lanes_.end()) found->second.is_closed = true;
}

bool HeldKeys::OpenAll() {
  bool opened = false;
  for (auto& [name, lane] : lanes_) {
    opened |= std::exchange(lane.is_closed, false);
  }
  return opened;
}

bool HeldKeys::IsClosed(std::string_view lane) const {
  const auto found = lanes_.find(lane);
  return found != lanes_.end() && found->second.is_closed;
}

std::vector<std::string> HeldKeys::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, lane] : lanes_) names.push_back(name);
  return names;
}

size_t HeldKeys::ReleaseExcept(const std::set<std::string>& waiting,
                               uint64_t stored) {
  return std::erase_if(lanes_, [&](const auto& entry) {
    return entry.second.end <= stored && !waiting.contains(entry.first);
  });
}

}  // namespace walpost
