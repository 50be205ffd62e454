// ProgressLog: logs a line every ten seconds while records are acknowledged.
#pragma once

#include <chrono>

#include "base/time.h"
#include "delivery/pipeline.h"
#include "spdlog/spdlog.h"

namespace walpost {

class ProgressLog {
 public:
  static constexpr std::chrono::seconds kInterval{10};

  explicit ProgressLog(MonotonicTime now) : logged_at_(now) {}

  void Tick(MonotonicTime now, const Pipeline& pipeline) {
    if (now - logged_at_ < kInterval) return;
    logged_at_ = now;
    const uint64_t acknowledged = pipeline.counters().acknowledged;
    // Without a stream, what is confirmed may not be known.
    if (acknowledged == logged_ || !pipeline.confirmed().is_valid()) return;
    logged_ = acknowledged;
    const auto quantile_millis = [&pipeline](double fraction) {
      return static_cast<double>(
                 pipeline.latency().Quantile(fraction).count()) /
             1e3;
    };
    spdlog::info(
        "{} records acknowledged ({} in flight), confirmed {}, p50 {:.1f} ms, "
        "p99 {:.1f} ms",
        acknowledged, pipeline.window().in_flight_records(),
        pipeline.confirmed().ToString(), quantile_millis(0.5),
        quantile_millis(0.99));
  }

 private:
  MonotonicTime logged_at_;
  uint64_t logged_ = 0;
};

}  // namespace walpost
