// GuardSchedule: decides when the guard slot moves, and to which LSN.
//
//        guard      edge           confirmed      end of WAL
//   --------|---------|----------------|--------------|
//           |<-step-->|<--- window --->|
//           |<----------- at most half the WAL budget ---------->|
//
// The edge is the newest LSN that leaves the window whole: the bytes before the
// confirmed LSN and, with a time, everything confirmed within it. The guard
// slot moves there when it is a step (an eighth of the window) behind, so that
// the server decodes that WAL in a few large steps.
//
// The WAL budget comes first: guard slot and lag together never keep more than
// half of it, so a replay window alone never causes a warning. When the live
// slot lags, the window shrinks, down to the confirmed LSN.
//
// Nothing is known of the time before this process started: until it has run
// for the window's time, the time keeps the guard slot in place.
//
// Pure. Owned by the ReplayWindowService.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/lsn.h"
#include "base/time.h"
#include "checkpoint/replay_options.h"

namespace walpost {

class GuardSchedule {
 public:
  struct Slots {
    Lsn guard;      // confirmed_flush_lsn of the guard slot
    Lsn confirmed;  // likewise of the live slot
    Lsn wal_end;
    uint64_t budget_bytes = 0;  // WalBudget::limit_bytes; 0: not known yet
  };

  // Limit per advance, because the server decodes what it advances over. The
  // rest is left for the next time.
  static constexpr uint64_t kMaxPerAdvance = uint64_t{1} << 30;

  explicit GuardSchedule(ReplayOptions options) : options_(options) {}

  // LSN to advance the guard slot to now; nullopt: do not advance. Asked every
  // few seconds. Never after `confirmed`.
  std::optional<Lsn> Next(const Slots& slots, MonotonicTime now);

  // True if the WAL budget left less than the window at the last Next.
  bool is_cut_short() const { return cut_short_; }

 private:
  struct Mark {
    Lsn confirmed;
    MonotonicTime at;
  };

  void Note(Lsn confirmed, MonotonicTime now);
  Lsn EdgeByTime(MonotonicTime now) const;

  ReplayOptions options_;
  std::deque<Mark> marks_;  // about kMarks, oldest first
  bool cut_short_ = false;
};

}  // namespace walpost
