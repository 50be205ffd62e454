// XminHorizonTracker: decides when a sample of the server becomes the horizon
// of a checkpoint (transaction_horizon.h).
//
// One sample waits at a time, until everything before it is acknowledged;
// samples that arrive meanwhile are dropped. Pure; a value.
#pragma once

#include <optional>
#include <utility>

#include "checkpoint/xmin_horizon.h"

namespace walpost {

class XminHorizonTracker {
 public:
  // A stream begins. Earlier samples are void: a server that crashed in between
  // may assign again the ids that it had not yet made durable.
  void Begin() {
    waiting_.reset();
    settled_.reset();
    may_be_of_before_ = true;
  }

  // Each sample is requested only after the last one has arrived. So only the
  // first one after Begin may have been requested before it.
  void OnSample(const HorizonSample& sample, Lsn acknowledged) {
    if (std::exchange(may_be_of_before_, false)) return;
    Settle(acknowledged);
    if (!waiting_) waiting_ = sample;
  }

  // A new horizon, if there is one since the last call. `acknowledged`:
  // everything that commits before it is acknowledged.
  std::optional<XminHorizon> Take(Lsn acknowledged) {
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
  std::optional<XminHorizon> settled_;
  bool may_be_of_before_ = true;
};

}  // namespace walpost
