// ProcessSuspendDetector: detects that this process, or the machine, was
// suspended for so long that the server may have given the slot to another
// instance.
//
// A turn comes at least every kMaxTurn. After half of wal_sender_timeout
// without a turn, the server may disconnect before the next one: events handed
// in from then on would come late, after those of the other instance.
//
// Pure: the caller passes the time.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/time.h"

namespace walpost {

class ProcessSuspendDetector {
 public:
  // The longest wait of one turn of the source.
  static constexpr std::chrono::milliseconds kMaxTurn{1000};

  explicit ProcessSuspendDetector(std::chrono::milliseconds wal_sender_timeout)
      : bearable_(std::max(wal_sender_timeout / 2, kMaxTurn * 3 / 2)) {}

  // A stream begins.
  void Start(BootTime now) { last_turn_at_ = now; }

  // A turn begins. Returns the time suspended before it, if that is too long.
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
