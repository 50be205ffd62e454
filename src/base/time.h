// The two clocks, and what PostgreSQL's timestamps mean.
//
// The pure folders never read a clock: they are handed a MonotonicTime (for
// waiting) or carry a WallTime (for people and records).
#pragma once

#include <chrono>
#include <cstdint>

namespace walpost {

using MonotonicTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

// PostgreSQL counts microseconds from 2000-01-01 00:00 UTC.
inline constexpr std::chrono::microseconds kPostgresEpoch{946'684'800'000'000};

constexpr WallTime FromPostgresMicros(int64_t micros) {
  // Unsigned on the way: a damaged stream may hold any 64 bits.
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
