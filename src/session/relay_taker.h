// RelayTaker: the pipeline, as the live stream sees it. An LSN is confirmed
// only once its checkpoint is stored. While a transaction of the sink is being
// committed, nothing is taken.
#pragma once

#include "checkpoint/checkpoint_writer.h"
#include "delivery/event_taker.h"
#include "delivery/pipeline.h"
#include "delivery/transaction_gate.h"

namespace walpost {

class RelayTaker final : public EventTaker {
 public:
  // All outlive this object. `gate`: nullptr if the sink has no transactions.
  RelayTaker(Pipeline& pipeline, const CheckpointWriter& checkpoints,
             TransactionGate* gate = nullptr);

  bool CanTake() const override { return MayTake() && pipeline_.CanTake(); }
  Offer OnEvent(const Event& event) override;
  Offer OnUndeliverable(const Event& event,
                        const absl::Status& reason) override;
  void OnTransactionEnd(Lsn end_lsn) override;
  void OnKeepalive(Lsn wal_end) override { pipeline_.OnKeepalive(wal_end); }

  Lsn confirmable() const override;
  // The part of a source transaction that must be whole is given up.
  bool IsDrained() const override;
  absl::Status Health() const override { return pipeline_.Health(); }

 private:
  bool MayTake() const { return gate_ == nullptr || gate_->MayTake(); }
  template <typename OfferEvent>
  Offer Pass(const OfferEvent& offer_event);

  Pipeline& pipeline_;
  const CheckpointWriter& checkpoints_;
  TransactionGate* gate_;
};

}  // namespace walpost
