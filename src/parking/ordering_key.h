// OrderingKey: the events that must keep their order, as one name.
//
// Kafka keeps the order of a key in a topic. If aggregate types never share a
// topic, a lane is an aggregate: its type and id. Else it is the id alone, and
// holds every event with this key. Tables with different templates may share a
// topic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "outbox/event.h"
#include "outbox/route.h"

namespace walpost {

enum class LaneScope {
  kKey,         // aggregate_id
  kTypeAndKey,  // aggregate_type and aggregate_id
};

LaneScope ScopeOf(const std::vector<Route>& routes);

// `key`: the aggregate_id.
std::string LaneOf(LaneScope scope, const Value& aggregate_type,
                   std::string_view key);

}  // namespace walpost
