// GuardSchedule: when the guard slot moves, and to where.
//
//        guard      edge           confirmed      end of WAL
//   --------|---------|----------------|--------------|
//           |<-step-->|<--- window --->|
//           |<----------- at most half the WAL budget ---------->|
//
// The edge is the newest LSN that leaves the window whole: the bytes before
// what is confirmed and, with a time, all that was confirmed within it. The
// guard slot moves there when it is a step (an eighth of the window) behind, so
// that the server decodes that WAL in few goes.
//
// The WAL budget comes first: guard slot and lag together never keep more than
// half of it, so a replay window alone makes nothing a warning. When the live
// slot lags, the window gives way, down to what is confirmed.
//
// Of the times before this process started nothing is known: until it has run
// for the window's time, the time holds the guard slot where it is.
//
// Pure. Owned by the GuardKeeper.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/lsn.h"
#include "base/time.h"
#include "delivery/replay_options.h"

namespace walpost {

class GuardSchedule {
 public:
  struct Slots {
    Lsn guard;      // confirmed_flush_lsn of the guard slot
    Lsn confirmed;  // and of the live slot
    Lsn wal_end;
    uint64_t budget_bytes = 0;  // WalBudget::limit_bytes; 0: not known yet
  };

  // The server decodes what it advances over: more than this is for the next
  // time.
  static constexpr uint64_t kMaxPerAdvance = uint64_t{1} << 30;

  explicit GuardSchedule(ReplayOptions options) : options_(options) {}

  // Where to advance the guard slot to, now; nullopt: nowhere yet. Asked every
  // few seconds. Never after `confirmed`.
  std::optional<Lsn> Next(const Slots& slots, MonotonicTime now);

  // Whether the WAL budget leaves less than the window, as of the last Next.
  bool is_cut_short() const { return cut_short_; }

 private:
  struct Mark {
    Lsn confirmed;
    MonotonicTime at;
  };

  void Note(Lsn confirmed, MonotonicTime now);
  Lsn EdgeByTime(MonotonicTime now) const;

  ReplayOptions options_;
  std::deque<Mark> marks_;  // about kMarks of them, oldest first
  bool cut_short_ = false;
};

}  // namespace walpost
