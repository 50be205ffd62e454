// The two clocks, and conversion of PostgreSQL's timestamps.
//
// The pure folders never read a clock: they get a MonotonicTime (for waiting)
// or a WallTime (for people and records) from the caller.
#pragma once

#include <chrono>
#include <cstdint>

namespace walpost {

using MonotonicTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

// PostgreSQL counts microseconds from 2000-01-01 00:00 UTC.
inline constexpr std::chrono::microseconds kPostgresEpoch{946'684'800'000'000};

constexpr WallTime FromPostgresMicros(int64_t micros) {
  // Unsigned in between: a damaged stream may contain any 64 bits.
  return WallTime(std::chrono::microseconds(
      static_cast<int64_t>(static_cast<uint64_t>(micros) +
                           static_cast<uint64_t>(kPostgresEpoch.count()))));
}

constexpr int64_t ToPostgresMicros(WallTime time) {
  return static_cast<int64_t>(
      static_cast<uint64_t>(time.time_since_epoch().count()) -
      static_cast<uint64_t>(kPostgresEpoch.count()));
}

inline WallTime WallNow() {
  return std::chrono::time_point_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now());
}

}  // namespace walpost
