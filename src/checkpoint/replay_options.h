// Replay window: keys `replay.*` of docs/configuration.md.
#pragma once

#include <chrono>
#include <cstddef>

namespace walpost {

struct ReplayOptions {
  // Minimum WAL kept before the confirmed LSN; 0: none, and no guard slot. In
  // bytes because disks are sized in bytes.
  size_t window_bytes = 0;
  // WAL confirmed within this time is also kept; 0: bytes alone decide. The
  // window gets at most half of the WAL budget in either case.
  std::chrono::milliseconds window_time{0};

  bool enabled() const { return window_bytes > 0; }
};

}  // namespace walpost
