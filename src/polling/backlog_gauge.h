// BacklogGauge: age of the first pending row of a table, across readings.
//
// Pure: the caller passes the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"
#include "health/polled_table_report.h"

namespace walpost {

class BacklogGauge {
 public:
  struct Reading {
    uint64_t pending = 0;  // rows
    uint64_t failed = 0;
    std::optional<std::string> first;              // id of the first pending
                                                   // one
    std::optional<std::chrono::milliseconds> age;  // its age, if known
  };

  explicit BacklogGauge(std::string table) { report_.table = std::move(table); }

  // Without a clock in the table, a row's age counts from the first reading
  // that had it as the first row.
  void OnReading(const Reading& reading, MonotonicTime now) {
    if (reading.first != first_) first_since_ = now;
    first_ = reading.first;
    read_at_ = now;
    report_.pending = reading.pending;
    report_.failed = reading.failed;
    report_.oldest_pending.reset();
    if (!first_) return;
    report_.oldest_pending = reading.age.value_or(
        std::chrono::duration_cast<std::chrono::milliseconds>(now -
                                                              first_since_));
  }

  const PolledTableReport& report() const { return report_; }
  // The same, with the age of the last reading.
  PolledTableReport ReportAt(MonotonicTime now) const {
    PolledTableReport report = report_;
    if (read_at_) {
      report.look_age = std::chrono::duration_cast<std::chrono::milliseconds>(
          now - *read_at_);
    }
    return report;
  }

 private:
  PolledTableReport report_;
  std::optional<std::string> first_;
  MonotonicTime first_since_{};
  std::optional<MonotonicTime> read_at_;
};

}  // namespace walpost
