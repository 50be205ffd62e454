#include "health/wal_budget.h"

#include <algorithm>
#include <cmath>

namespace walpost {
namespace {

// Memory of the growth rate: older seconds count a third, a ninth, ...
constexpr double kMemorySeconds = 30;
constexpr double kMaxForecastSeconds = 30 * 24 * 3600.0;

}  // namespace

void WalBudget::OnReport(const RetainedWal& wal, MonotonicTime now) {
  if (limit_ != 0) {
    const std::chrono::duration<double> passed = now - reported_at_;
    if (passed.count() > 0) {
      const double growth = (static_cast<double>(wal.retained_bytes) -
                             static_cast<double>(retained_)) /
                            passed.count();
      const double fresh = 1 - std::exp(-passed.count() / kMemorySeconds);
      growth_bytes_per_second_ += fresh * (growth - growth_bytes_per_second_);
    }
  }
  retained_ = wal.retained_bytes;
  reported_at_ = now;
  limit_ = configured_limit_;
  if (wal.safe_wal_size) {
    const int64_t safe = std::max<int64_t>(*wal.safe_wal_size, 0);
    const uint64_t of_server = retained_ + static_cast<uint64_t>(safe);
    limit_ = limit_ == 0 ? of_server : std::min(limit_, of_server);
  }
  if (limit_ == 0) limit_ = kDefaultLimit;
}

WalBudget::Level WalBudget::level() const {
  if (limit_ == 0) return Level::kFine;
  const double used =
      static_cast<double>(retained_) / static_cast<double>(limit_);
  if (used >= 0.8) return Level::kAtRisk;
  return used >= 0.5 ? Level::kWarning : Level::kFine;
}

std::optional<std::chrono::seconds> WalBudget::time_left() const {
  if (growth_bytes_per_second_ < 1 || limit_ == 0) return std::nullopt;
  const double left =
      retained_ < limit_ ? static_cast<double>(limit_ - retained_) : 0;
  const double seconds = left / growth_bytes_per_second_;
  if (seconds > kMaxForecastSeconds) return std::nullopt;
  return std::chrono::seconds(static_cast<int64_t>(seconds));
}

}  // namespace walpost
