// Resource usage of this process.
#pragma once

#include <chrono>
#include <cstdint>

namespace walpost {

struct ProcessUsage {
  uint64_t resident_memory_bytes = 0;  // 0: /proc cannot be read
  std::chrono::microseconds cpu{0};    // user and system, all threads
};

// Takes microseconds: no wait for a disk or a network.
ProcessUsage ReadProcessUsage();

}  // namespace walpost
