// RelayTaker: the pipeline, as the live stream sees it. An LSN is confirmed
// only once its checkpoint is stored.
#pragma once

#include <algorithm>

#include "checkpoint/checkpoint_writer.h"
#include "delivery/event_taker.h"
#include "delivery/pipeline.h"

namespace walpost {

class RelayTaker final : public EventTaker {
 public:
  // Both outlive this object.
  RelayTaker(Pipeline& pipeline, const CheckpointWriter& checkpoints)
      : pipeline_(pipeline), checkpoints_(checkpoints) {}

  bool CanTake() const override { return pipeline_.CanTake(); }
  Offer OnEvent(const Event& event) override {
    return pipeline_.OnEvent(event);
  }
  Offer OnUndeliverable(const Event& event,
                        const absl::Status& reason) override {
    return pipeline_.OnUndeliverable(event, reason);
  }
  void OnTransactionEnd(Lsn end_lsn) override {
    pipeline_.OnTransactionEnd(end_lsn);
  }
  void OnKeepalive(Lsn wal_end) override { pipeline_.OnKeepalive(wal_end); }

  Lsn confirmable() const override {
    return std::min(pipeline_.confirmable(), checkpoints_.confirmable());
  }
  bool IsDrained() const override {
    return pipeline_.IsDrained() &&
           checkpoints_.confirmable() == pipeline_.confirmed();
  }
  absl::Status Health() const override { return pipeline_.Health(); }

 private:
  Pipeline& pipeline_;
  const CheckpointWriter& checkpoints_;
};

}  // namespace walpost
