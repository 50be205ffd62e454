#include "redis/cluster_slots.h"

#include <algorithm>
#include <limits>
#include <string>

namespace walpost {
namespace {

constexpr uint16_t kPolynomial = 0x1021;  // XMODEM
constexpr int kBits = 8;

uint16_t Crc16(std::string_view bytes) {
  unsigned crc = 0;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << kBits;
    for (int bit = 0; bit < kBits; ++bit) {
      const bool is_high = (crc & 0x8000U) != 0;
      crc = (crc << 1U) ^ (is_high ? kPolynomial : 0U);
    }
    crc &= std::numeric_limits<uint16_t>::max();
  }
  return static_cast<uint16_t>(crc);
}

std::string_view HashedPart(std::string_view key) {
  const size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const size_t close = key.find('}', open + 1);
  const bool has_tag = close != std::string_view::npos && close > open + 1;
  return has_tag ? key.substr(open + 1, close - open - 1) : key;
}

}  // namespace

uint16_t HashSlotOf(std::string_view key) {
  return Crc16(HashedPart(key)) % ClusterSlots::kCount;
}

ClusterSlots ClusterSlots::Of(const Reply& reply, const ServerPlace& asked) {
  ClusterSlots slots;
  const auto is_slot = [](int64_t number) {
    return number >= 0 && number < kCount;
  };
  for (size_t i = 0; i < reply.size(); ++i) {
    // first, last, master (host, port, ...), replicas
    const std::vector<int64_t> numbers = reply.integers(i);
    const auto master = reply.place(i, 2);
    if (numbers.size() < 3 || !master || !is_slot(numbers[0]) ||
        !is_slot(numbers[1])) {
      continue;
    }
    ServerPlace place{std::string(master->first), master->second};
    if (place.host.empty()) place.host = asked.host;
    slots.ranges_.push_back({static_cast<uint16_t>(numbers[0]),
                             static_cast<uint16_t>(numbers[1]),
                             std::move(place)});
  }
  return slots;
}

std::optional<ServerPlace> ClusterSlots::MasterOf(uint16_t slot) const {
  for (const Range& range : ranges_) {
    if (range.first <= slot && slot <= range.last) return range.master;
  }
  return std::nullopt;
}

std::vector<ClusterSlots::Range> ClusterSlots::Masters() const {
  std::vector<Range> masters;
  for (const Range& range : ranges_) {
    const bool is_new = std::ranges::none_of(
        masters, [&](const Range& one) { return one.master == range.master; });
    if (is_new) masters.push_back(range);
  }
  return masters;
}

size_t ClusterSlots::served() const {
  size_t count = 0;
  for (const Range& range : ranges_) {
    count += static_cast<size_t>(range.last - range.first) + 1;
  }
  return count;
}

}  // namespace walpost
