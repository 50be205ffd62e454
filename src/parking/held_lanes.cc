#include "parking/held_lanes.h"

#include <algorithm>
#include <utility>

namespace walpost {

void HeldLanes::Hold(const std::string& lane, const Position& position,
                     uint64_t end) {
  const auto [found, is_new] = lanes_.try_emplace(lane);
  Lane& held = found->second;
  held.first = is_new ? position : std::min(held.first, position);
  held.end = std::max(held.end, end);
}

bool HeldLanes::Holds(std::string_view lane, const Position& position) const {
  const auto found = lanes_.find(lane);
  return found != lanes_.end() && position >= found->second.first;
}

void HeldLanes::Close(const std::string& lane) {
  const auto found = lanes_.find(lane);
  if (found != lanes_.end()) found->second.is_closed = true;
}

bool HeldLanes::OpenAll() {
  bool opened = false;
  for (auto& [name, lane] : lanes_) {
    opened |= std::exchange(lane.is_closed, false);
  }
  return opened;
}

bool HeldLanes::IsClosed(std::string_view lane) const {
  const auto found = lanes_.find(lane);
  return found != lanes_.end() && found->second.is_closed;
}

std::vector<std::string> HeldLanes::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, lane] : lanes_) names.push_back(name);
  return names;
}

size_t HeldLanes::ReleaseExcept(const std::set<std::string>& waiting,
                                uint64_t stored) {
  return std::erase_if(lanes_, [&](const auto& entry) {
    return entry.second.end <= stored && !waiting.contains(entry.first);
  });
}

}  // namespace walpost
