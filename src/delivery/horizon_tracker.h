// HorizonTracker: when a sample of the server becomes the horizon of a
// checkpoint (transaction_horizon.h).
//
// One sample waits at a time, until what is acknowledged has passed it; those
// that come meanwhile are let go. Pure; a value.
#pragma once

#include <optional>
#include <utility>

#include "delivery/transaction_horizon.h"

namespace walpost {

class HorizonTracker {
 public:
  // A stream begins. Samples of before it are void: a server that crashed in
  // between may give out once more the ids that it had not yet made durable.
  void Begin() {
    waiting_.reset();
    settled_.reset();
    may_be_of_before_ = true;
  }

  // Samples come one after the other, each asked for when the one before is
  // there; so only the first after Begin may have been asked for earlier.
  void OnSample(const HorizonSample& sample, Lsn acknowledged) {
    if (std::exchange(may_be_of_before_, false)) return;
    Settle(acknowledged);
    if (!waiting_) waiting_ = sample;
  }

  // A new horizon, if there is one since the last call. `acknowledged`:
  // everything that commits before it is.
  std::optional<TransactionHorizon> Take(Lsn acknowledged) {
    Settle(acknowledged);
    return std::exchange(settled_, std::nullopt);
  }

 private:
  void Settle(Lsn acknowledged) {
    if (!waiting_ || acknowledged < waiting_->wal_end) return;
    settled_ = waiting_->horizon;
    waiting_.reset();
  }

  std::optional<HorizonSample> waiting_;
  std::optional<TransactionHorizon> settled_;
  bool may_be_of_before_ = true;
};

}  // namespace walpost
