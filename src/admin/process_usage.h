// Resource usage of this process.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace walpost {

struct ProcessUsage {
  uint64_t resident_memory_bytes = 0;  // 0: /proc cannot be read
  std::chrono::microseconds cpu{0};    // user and system, all threads
  // nullopt: /proc cannot be read.
  std::optional<std::chrono::milliseconds> started_at = {};  // since 1970
  std::optional<uint64_t> open_descriptors = {};
  uint64_t max_descriptors = 0;  // 0: not known
};

// Takes microseconds: no wait for a disk or a network.
ProcessUsage ReadProcessUsage();

}  // namespace walpost
