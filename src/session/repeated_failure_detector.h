// RepeatedFailureDetector: recognises an error that a retry does not fix.
//
// An attempt that fails at the same confirmed LSN with the same error as the
// one before has made no progress. A few of these in a row are poison:
// something at that place breaks the stream or the producer each time, and
// every further attempt only sends the records before it once more.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "base/lsn.h"

namespace walpost {

class RepeatedFailureDetector {
 public:
  // A damaged stream has the same bytes each time. A producer may fail several
  // times while brokers restart one by one.
  static constexpr int kMaxDamages = 3;
  static constexpr int kMaxProducerFailures = 10;

  // An attempt failed with `status`, at the confirmed LSN `confirmed`. Errors
  // that pass by themselves (kUnavailable) or need an operator anyway
  // (kFailedPrecondition) are not counted.
  void OnFailure(const absl::Status& status, Lsn confirmed) {
    if (LimitFor(status) == 0) return;
    const bool same = status.message() == message_ && confirmed == confirmed_;
    times_ = same ? times_ + 1 : 1;
    message_ = std::string(status.message());
    confirmed_ = confirmed;
    is_poison_ = times_ >= LimitFor(status);
  }

  bool is_poison() const { return is_poison_; }
  int times() const { return times_; }
  Lsn confirmed() const { return confirmed_; }

 private:
  static int LimitFor(const absl::Status& status) {
    if (absl::IsDataLoss(status)) return kMaxDamages;
    if (absl::IsAborted(status)) return kMaxProducerFailures;
    return 0;
  }

  std::string message_;
  Lsn confirmed_;
  int times_ = 0;
  bool is_poison_ = false;
};

}  // namespace walpost
