#include "parking/ordering_key.h"

#include <algorithm>

namespace walpost {

LaneScope ScopeOf(const std::vector<Route>& routes) {
  // Different templates may make one topic: t.{x}, and t.a.{x}.
  const bool separates =
      std::ranges::all_of(routes, [&routes](const Route& route) {
        return route.topic().Separates("aggregate_type") &&
               route.topic().text() == routes.front().topic().text();
      });
  return separates ? LaneScope::kTypeAndKey : LaneScope::kKey;
}

std::string LaneOf(LaneScope scope, const Value& aggregate_type,
                   std::string_view key) {
  std::string lane(key);
  if (scope == LaneScope::kKey) return lane;
  // A NULL is not the empty text; neither can contain the zero byte.
  lane.push_back('\0');
  if (aggregate_type) lane.append("=").append(*aggregate_type);
  return lane;
}

}  // namespace walpost
