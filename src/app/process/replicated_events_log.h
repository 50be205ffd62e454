// ReplicatedEventsLog: logs a line, at most every minute, when events were
// skipped because they were replicated to the server (postgres.origin: none).
#pragma once

#include <chrono>
#include <optional>

#include "base/time.h"
#include "log/log.h"
#include "outbox/skipped_changes.h"

namespace walpost {

class ReplicatedEventsLog {
 public:
  static constexpr std::chrono::minutes kInterval{1};

  void Tick(MonotonicTime now, const SkippedChanges& skipped) {
    const uint64_t events = skipped.events_of_other_origins;
    const bool is_early = logged_at_ && now - *logged_at_ < kInterval;
    if (events == logged_ || is_early) return;
    logged_at_ = now;
    logged_ = events;
    LogInfo(
        "{} events of {} transactions were not published, because they were "
        "replicated to this server (postgres.origin: none)",
        events, skipped.transactions_of_other_origins);
  }

 private:
  std::optional<MonotonicTime> logged_at_;
  uint64_t logged_ = 0;
};

}  // namespace walpost
