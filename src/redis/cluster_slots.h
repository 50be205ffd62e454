// ClusterSlots: which node of a Redis Cluster has which hash slots.
//
// The slot of a key is that of the text between its first { and the next }, if
// there is any: keys with the same hash tag are on one node. From the reply of
// CLUSTER SLOTS. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/server_place.h"
#include "redis/resp.h"

namespace walpost {

// CRC16 modulo 16384, as the specification of Redis Cluster has it.
uint16_t HashSlotOf(std::string_view key);

class ClusterSlots {
 public:
  static constexpr uint16_t kCount = 16'384;

  struct Range {
    uint16_t first;
    uint16_t last;
    ServerPlace master;
  };

  // `asked`: the node that says it. A node without a host of its own in the
  // reply is reached by that of `asked`. Skips what does not parse.
  static ClusterSlots Of(const Reply& reply, const ServerPlace& asked);

  // nullopt: no node serves the slot.
  std::optional<ServerPlace> MasterOf(uint16_t slot) const;
  // Each master once, with one of its slots.
  std::vector<Range> Masters() const;
  // Slots that a master serves.
  size_t served() const;

 private:
  std::vector<Range> ranges_;
};

}  // namespace walpost
