#include "checkpoint/guard_schedule.h"

#include <algorithm>

namespace walpost {
namespace {

constexpr uint64_t kStepsPerWindow = 8;
// Number of pieces that the window's time is divided into.
constexpr int kMarks = 16;

Lsn Before(Lsn lsn, uint64_t bytes) {
  return Lsn(lsn.value() > bytes ? lsn.value() - bytes : 0);
}

Lsn After(Lsn lsn, uint64_t bytes) { return Lsn(lsn.value() + bytes); }

}  // namespace

std::optional<Lsn> GuardSchedule::Next(const Slots& slots, MonotonicTime now) {
  Note(slots.confirmed, now);
  const uint64_t step =
      std::max<uint64_t>(uint64_t{options_.window_bytes} / kStepsPerWindow, 1);
  Lsn edge = Before(slots.confirmed, options_.window_bytes);
  if (options_.window_time.count() > 0) {
    edge = std::min(edge, EdgeByTime(now));
  }
  cut_short_ = false;
  if (slots.budget_bytes > 0) {
    // A step early, because the slot is up to a step behind.
    const Lsn least =
        std::min(After(Before(slots.wal_end, slots.budget_bytes / 2), step),
                 slots.confirmed);
    cut_short_ =
        least > After(Before(slots.confirmed, options_.window_bytes), step);
    edge = std::max(edge, least);
  }
  if (edge < After(slots.guard, step)) return std::nullopt;
  return std::min(edge, After(slots.guard, kMaxPerAdvance));
}

void GuardSchedule::Note(Lsn confirmed, MonotonicTime now) {
  if (options_.window_time.count() == 0) return;
  if (marks_.empty() ||
      now - marks_.back().at >= options_.window_time / kMarks) {
    marks_.push_back({confirmed, now});
  }
  // Among the marks that are old enough, the newest one decides.
  while (marks_.size() > 1 && now - marks_[1].at >= options_.window_time) {
    marks_.pop_front();
  }
}

Lsn GuardSchedule::EdgeByTime(MonotonicTime now) const {
  if (marks_.empty() || now - marks_.front().at < options_.window_time) {
    return Lsn();
  }
  return marks_.front().confirmed;
}

}  // namespace walpost
