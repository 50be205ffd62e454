// ProgressLog: logs a line every ten seconds while records are acknowledged.
#pragma once

#include <chrono>

#include "base/lsn.h"
#include "base/time.h"
#include "delivery/sender.h"
#include "log/log.h"

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

}  // namespace walpost
