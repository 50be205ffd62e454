// How far back a replay can go: keys `replay.*` of docs/configuration.md.
#pragma once

#include <chrono>
#include <cstddef>

namespace walpost {

struct ReplayOptions {
  // WAL before the confirmed LSN that stays at hand, at least; 0: none, and
  // no guard slot. In bytes because that is what a disk has.
  size_t window_bytes = 0;
  // What was confirmed within this time stays, too; 0: bytes alone decide.
  // Half of the WAL budget is the most that either of them gets.
  std::chrono::milliseconds window_time{0};

  bool enabled() const { return window_bytes > 0; }
};

}  // namespace walpost
