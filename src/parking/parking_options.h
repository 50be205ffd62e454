// Configuration of parked events (docs/configuration.md).
#pragma once

#include <cstddef>
#include <string>

namespace walpost {

struct ParkingOptions {
  // schema.table in the source database.
  std::string table = "public.walpost_parked";
  // The flow stops before an event that would hold up another key.
  size_t max_keys = 1'000;
};

}  // namespace walpost
