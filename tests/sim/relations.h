// Tables of the simulated database.
#pragma once

#include <cstdint>
#include <string>

#include "support/message_bytes.h"

namespace walpost::sim {

inline constexpr uint32_t kOutboxOid = 16384;
inline constexpr uint32_t kOrdersOid = 16390;  // not published as events

inline std::string OutboxRelation() {
  return testing::RelationMessage(
      kOutboxOid, "public", "outbox",
      {{"id"}, {"aggregate_type"}, {"aggregate_id"}, {"payload"}});
}

inline std::string OrdersRelation() {
  return testing::RelationMessage(kOrdersOid, "public", "orders", {{"id"}});
}

}  // namespace walpost::sim
