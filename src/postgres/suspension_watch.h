// SuspensionWatch: whether this process, or the machine, was asleep for so long
// that the server may have given the slot to another instance.
//
// A turn comes at least every kMaxTurn. Half of wal_sender_timeout without
// one, and the server may have hung up before the next: what we hand in from
// then on would come late, after what the other instance sends.
//
// Pure: it is told the time.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "loop/boot_clock.h"

namespace walpost {

class SuspensionWatch {
 public:
  // The most that one turn of the source waits.
  static constexpr std::chrono::milliseconds kMaxTurn{1000};

  explicit SuspensionWatch(std::chrono::milliseconds wal_sender_timeout)
      : bearable_(std::max(wal_sender_timeout / 2, kMaxTurn * 3 / 2)) {}

  // A stream begins.
  void Start(BootTime now) { last_turn_at_ = now; }

  // A turn begins: how long we were suspended before it, if that is too long.
  std::optional<BootTime::duration> OnTurn(BootTime now) {
    const auto gap = now - std::exchange(last_turn_at_, now);
    if (gap < bearable_) return std::nullopt;
    return gap;
  }

 private:
  std::chrono::milliseconds bearable_;
  BootTime last_turn_at_{};
};

}  // namespace walpost
