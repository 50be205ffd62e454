// ProgressLog: logs a line every ten seconds while records are acknowledged.
#pragma once

#include <chrono>
#include <optional>

#include "base/lsn.h"
#include "base/time.h"
#include "delivery/sender.h"
#include "log/log.h"
#include "outbox/skipped_changes.h"

namespace walpost {

class ProgressLog {
 public:
  static constexpr std::chrono::seconds kInterval{10};

  explicit ProgressLog(MonotonicTime now) : logged_at_(now) {}

  // `confirmed`: to Postgres; 0/0: not known, because there is no stream.
  void Tick(MonotonicTime now, const Sender& sender, Lsn confirmed) {
    if (now - logged_at_ < kInterval) return;
    logged_at_ = now;
    const uint64_t acknowledged = sender.counters().acknowledged;
    if (acknowledged == logged_ || !confirmed.is_valid()) return;
    logged_ = acknowledged;
    const LatencyHistogram& latency = sender.latencies().all();
    const auto quantile_millis = [&latency](double fraction) {
      return static_cast<double>(latency.Quantile(fraction).count()) / 1e3;
    };
    LogInfo(
        "{} records acknowledged ({} in flight), confirmed {}, p50 {:.1f} ms, "
        "p99 {:.1f} ms",
        acknowledged, sender.window().in_flight_records(), confirmed.ToString(),
        quantile_millis(0.5), quantile_millis(0.99));
  }

 private:
  MonotonicTime logged_at_;
  uint64_t logged_ = 0;
};

// ReplicatedEventsLog: logs a line, at most every minute, when events were
// skipped because they were replicated to the server (postgres.origin: none).
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
