#include "parking/isolation_timer.h"

namespace walpost {

std::optional<Position> IsolationTimer::Look(
    std::optional<Position> standing_at, MonotonicTime brokers_seen_at,
    MonotonicTime now) {
  if (after_.count() == 0 || !standing_at) return std::nullopt;
  if (at_ != standing_at) {
    at_ = standing_at;
    since_ = now;
  }
  // Not heard for half of the time: perhaps they are all away.
  if (brokers_seen_at < now - after_ / 2) since_ = now;
  if (now - since_ < after_) return std::nullopt;
  since_ = now;
  return at_;
}

}  // namespace walpost
