// RelayTaker: the pipeline, as the live stream sees it. An LSN is confirmed
// only once its checkpoint is stored. While a transaction of the sink is being
// committed, nothing is taken.
#pragma once

#include <algorithm>

#include "checkpoint/checkpoint_writer.h"
#include "delivery/event_taker.h"
#include "delivery/pipeline.h"
#include "delivery/transaction_gate.h"

namespace walpost {

class RelayTaker final : public EventTaker {
 public:
  // All outlive this object. `gate`: nullptr if the sink has no transactions.
  RelayTaker(Pipeline& pipeline, const CheckpointWriter& checkpoints,
             TransactionGate* gate = nullptr)
      : pipeline_(pipeline), checkpoints_(checkpoints), gate_(gate) {}

  bool CanTake() const override { return MayTake() && pipeline_.CanTake(); }
  Offer OnEvent(const Event& event) override {
    return Pass([&] { return pipeline_.OnEvent(event); });
  }
  Offer OnUndeliverable(const Event& event,
                        const absl::Status& reason) override {
    return Pass([&] { return pipeline_.OnUndeliverable(event, reason); });
  }
  void OnTransactionEnd(Lsn end_lsn) override {
    pipeline_.OnTransactionEnd(end_lsn);
    if (gate_ != nullptr) gate_->OnBoundary();
  }
  void OnKeepalive(Lsn wal_end) override { pipeline_.OnKeepalive(wal_end); }

  Lsn confirmable() const override {
    return std::min(pipeline_.confirmable(), checkpoints_.confirmable());
  }
  // The part of a source transaction that must be whole is given up.
  bool IsDrained() const override {
    const bool is_given_up = gate_ != nullptr && gate_->is_inside();
    return pipeline_.IsDrained() &&
           (is_given_up || checkpoints_.confirmable() == pipeline_.confirmed());
  }
  absl::Status Health() const override { return pipeline_.Health(); }

 private:
  bool MayTake() const { return gate_ == nullptr || gate_->MayTake(); }

  template <typename OfferEvent>
  Offer Pass(const OfferEvent& offer_event) {
    if (gate_ == nullptr) return offer_event();
    if (!gate_->MayTake()) return Offer::kHold;
    const DeliveryCounters& counters = pipeline_.counters();
    const uint64_t records = counters.produced;
    const uint64_t bytes = counters.value_bytes;
    const Offer offer = offer_event();
    if (offer == Offer::kTaken) {
      gate_->OnEvent(counters.produced - records, counters.value_bytes - bytes);
    }
    return offer;
  }

  Pipeline& pipeline_;
  const CheckpointWriter& checkpoints_;
  TransactionGate* gate_;
};

}  // namespace walpost
