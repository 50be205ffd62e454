// BootClock: time since the boot of the machine, its sleep included.
//
// CLOCK_MONOTONIC, and with it MonotonicTime, stands still while the machine is
// suspended. For waiting that is right; who asks how long others have not heard
// from us needs this clock. A virtual machine that its host pauses, without a
// suspend of the guest, sees neither clock move.
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
