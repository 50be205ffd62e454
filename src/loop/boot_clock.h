// BootClock: time since the boot of the machine, including its sleep.
//
// CLOCK_MONOTONIC, and so MonotonicTime, stops while the machine is suspended.
// For waiting that is right. To know how long others have not heard from us,
// use this clock. In a virtual machine that its host pauses, without a suspend
// of the guest, neither clock moves.
#pragma once

#include <chrono>
#include <ctime>

namespace walpost {

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
