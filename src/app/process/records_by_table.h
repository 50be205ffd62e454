// The records that were sent, by the name of the table of their events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "delivery/delivery_latencies.h"
#include "delivery/named_counts.h"
#include "outbox/route.h"

namespace walpost {

// `sent`: by the index of the route. Logical messages count as a table of their
// own, "messages", if there are any.
inline NamedCounts RecordsByTable(const std::vector<Route>& routes,
                                  const std::vector<uint64_t>& sent) {
  NamedCounts counts;
  for (size_t i = 0; i < sent.size(); ++i) {
    const std::string& table = routes[i].table();
    if (table.empty() && sent[i] == 0) continue;
    counts.Add(table.empty() ? DeliveryLatencies::kMessages : table, sent[i]);
  }
  return counts;
}

}  // namespace walpost
