// Configuration of parked events (docs/configuration.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace walpost {

struct ParkingOptions {
  // schema.table in the source database.
  std::string table = "public.walpost_parked";
  // The flow stops before an event that would hold up another key.
  size_t max_keys = 1'000;

  // How long a topic may hold up the others while the brokers answer, before it
  // is isolated; 0: forever.
  std::chrono::seconds isolate_after{0};
  // The flow stops before an event that would be stored beyond these limits:
  // bytes of the events that wait for isolated topics, and how long they do.
  size_t max_isolated_bytes = size_t{1} << 30;
  std::chrono::seconds max_isolated_time{24 * 3600};

  bool isolates() const { return isolate_after.count() > 0; }
};

}  // namespace walpost
