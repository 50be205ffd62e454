// Tables of the simulated database, and the configuration that publishes them.
#pragma once

#include <cstdint>
#include <string>

#include "outbox/options.h"
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

inline OutboxOptions SimulatedOutbox(bool has_orders) {
  OutboxOptions options;
  options.tables.resize(has_orders ? 2 : 1);
  options.tables.back().name = has_orders ? "public.orders" : "public.outbox";
  options.messages.prefix = "outbox";
  // Its function makes a lane of all events of a key.
  options.route.topic = "outbox.event.{aggregate_type|lower}";
  return options;
}

}  // namespace walpost::sim
