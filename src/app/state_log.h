// StateLog: the state that a relay is in, since when, and a log line when it
// becomes another.
#pragma once

#include "base/time.h"
#include "delivery/diagnosis.h"
#include "delivery/relay_status.h"

namespace walpost {

class StateLog {
 public:
  explicit StateLog(MonotonicTime now) : since_(now) {}

  // To be called often. Stuck for another reason is a line, too; the same
  // reason with other figures is not.
  void Update(Diagnosis diagnosis, MonotonicTime now);

  const Diagnosis& diagnosis() const { return diagnosis_; }

  // State, reason and how long it has lasted.
  void Report(MonotonicTime now, RelayStatus& status) const;

 private:
  Diagnosis diagnosis_;
  MonotonicTime since_;
};

}  // namespace walpost
