// ReadLag: for how long the WAL of the server has not been read to its end.
//
//   end of WAL, as seen    A ......... B ......... C ...
//   received                    A           B            -> read up to then
//
// The server's end moves while it is approached. So the end that was seen is
// remembered with its time, until it is reached; then the next one is.
//
// Owned by the relay. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/lsn.h"
#include "base/time.h"

namespace walpost {

class ReadLag {
 public:
  // An idle server reports its end at intervals shorter than this.
  static constexpr std::chrono::seconds kReportsMissing{8};

  explicit ReadLag(MonotonicTime now) : begun_at_(now) {}

  // `end` of the WAL, as last reported, at `seen_at`; `received`: all before it
  // was handed in. Call it a few times a second.
  void Look(Lsn received, Lsn end, MonotonicTime seen_at) {
    is_at_end_ = end.is_valid() && received >= end;
    if (!end.is_valid()) return;
    if (awaited_.is_valid() && received >= awaited_) Reached(awaited_at_);
    if (is_at_end_) Reached(seen_at);
    if (awaited_.is_valid() && received < awaited_) return;
    awaited_ = end;
    awaited_at_ = seen_at;
  }

  // The next LSNs belong to another server.
  void StartOver(MonotonicTime now) { *this = ReadLag(now); }

  // Zero if the end was reached, and the server has reported lately. Else at
  // most `newest_age`, the age of the newest commit that was received;
  // nullopt: none was. Before the first end is reached and without a commit, it
  // counts from the beginning.
  std::chrono::microseconds Length(
      MonotonicTime now,
      std::optional<std::chrono::microseconds> newest_age) const {
    using std::chrono::microseconds;
    const auto passed = std::chrono::duration_cast<microseconds>(
        now - read_through_.value_or(begun_at_));
    if (is_at_end_ && read_through_ && passed <= kReportsMissing) return {};
    if (!newest_age) return passed;
    const microseconds age = std::max(*newest_age, microseconds(0));
    return read_through_ ? std::min(passed, age) : age;
  }

 private:
  void Reached(MonotonicTime seen_at) {
    read_through_ = std::max(seen_at, read_through_.value_or(seen_at));
  }

  MonotonicTime begun_at_;
  Lsn awaited_;
  MonotonicTime awaited_at_{};
  bool is_at_end_ = false;
  // All that was committed before it has been received.
  std::optional<MonotonicTime> read_through_;
};

}  // namespace walpost
