// PolledTableReport: state of a polled table at the last look.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace walpost {

struct PolledTableReport {
  std::string table;
  // Rows, counted up to 100,000.
  uint64_t pending = 0;
  uint64_t failed = 0;
  // Age of the first pending row, by the table's clock if it has one; nullopt:
  // nothing is pending.
  std::optional<std::chrono::milliseconds> oldest_pending;
  // Since the last look; nullopt: there was none.
  std::optional<std::chrono::milliseconds> look_age = {};
};

}  // namespace walpost
