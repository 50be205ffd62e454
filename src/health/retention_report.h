// RetentionReport: the rows of one table that were pruned since the process
// began, and those that the last pass kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace walpost {

struct RetentionReport {
  std::string table;
  uint64_t pruned_rows = 0;  // one by one; without partitions
  uint64_t dropped_partitions = 0;
  // Old rows that the last pass kept: not sent, or without proof that they
  // were.
  uint64_t kept_rows = 0;
  // Since a pass ended without an error; nullopt: none has.
  std::optional<std::chrono::milliseconds> pass_age = {};
};

}  // namespace walpost
