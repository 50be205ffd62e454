// StateLog: state of a relay, its start time, and a log line for each change.
#pragma once

#include "base/time.h"
#include "health/diagnosis.h"
#include "health/relay_signs.h"
#include "health/relay_status.h"

namespace walpost {

class StateLog {
 public:
  explicit StateLog(MonotonicTime now) : since_(now) {}

  // Call it often. Also logs a new reason of the state `stuck`, unless only its
  // numbers differ.
  void Update(const RelaySigns& signs, MonotonicTime now);

  const Diagnosis& diagnosis() const { return diagnosis_; }

  // Fills in state, reason and duration.
  void Report(MonotonicTime now, RelayStatus& status) const;

 private:
  Diagnosis diagnosis_;
  MonotonicTime since_;
};

}  // namespace walpost
