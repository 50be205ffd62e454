// The clocks, and conversion of PostgreSQL's timestamps.
//
// The pure folders never read a clock: they get a MonotonicTime (for waiting),
// a WallTime (for people and records) or a BootTime from the caller.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

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

// Time since the boot of the machine, including its sleep.
//
// CLOCK_MONOTONIC, and so MonotonicTime, stops while the machine is suspended.
// For waiting that is right. To know how long others have not heard from us,
// use this clock. In a virtual machine that its host pauses, without a suspend
// of the guest, neither clock moves.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return time_point(std::chrono::seconds(time.tv_sec) +
                      std::chrono::nanoseconds(time.tv_nsec));
  }
};

using BootTime = BootClock::time_point;

}  // namespace walpost
