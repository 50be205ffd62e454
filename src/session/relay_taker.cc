#include "session/relay_taker.h"

#include <algorithm>

namespace walpost {

RelayTaker::RelayTaker(Pipeline& pipeline, const CheckpointWriter& checkpoints,
                       PassedOverRows& passed_over, TransactionGate* gate)
    : pipeline_(pipeline),
      checkpoints_(checkpoints),
      passed_over_(passed_over),
      gate_(gate) {
  pipeline_.TryAlone([gate] {
    if (gate != nullptr) gate->OnWithdrawn();
  });
}

EventTaker::Offer RelayTaker::OnEvent(const Event& event) {
  return Pass([&] { return pipeline_.OnEvent(event); });
}

EventTaker::Offer RelayTaker::OnUndeliverable(const Event& event,
                                              const absl::Status& reason) {
  return Pass([&] { return pipeline_.OnUndeliverable(event, reason); });
}

template <typename OfferEvent>
EventTaker::Offer RelayTaker::Pass(const OfferEvent& offer_event) {
  if (gate_ == nullptr) return offer_event();
  if (!gate_->MayTake()) return Offer::kHold;
  const DeliveryCounters& counters = pipeline_.counters();
  const uint64_t records = counters.produced;
  const uint64_t bytes = counters.value_bytes;
  const Offer offer = offer_event();
  // Held events may have records, too (Pipeline::TryAlone).
  if (offer == Offer::kTaken || counters.produced != records) {
    gate_->OnEvent(counters.produced - records, counters.value_bytes - bytes);
  }
  return offer;
}

void RelayTaker::OnTransactionEnd(Lsn end_lsn) {
  pipeline_.OnTransactionEnd(end_lsn);
  if (gate_ != nullptr) gate_->OnBoundary();
}

bool RelayTaker::OnPassedOver(const OtherRelation& relation) {
  const Lsn resumed = pipeline_.acknowledged_through().commit_lsn;
  if (relation.commit_lsn < resumed) return false;
  passed_over_.OnRow(relation.oid, relation.name, relation.commit_lsn);
  return true;
}

Lsn RelayTaker::confirmable() const {
  const Lsn stored = checkpoints_.confirmable();
  return std::min({pipeline_.confirmable(), stored, passed_over_.limit()});
}

bool RelayTaker::IsDrained() const {
  const bool is_given_up = gate_ != nullptr && gate_->is_inside();
  return pipeline_.IsDrained() &&
         (is_given_up || checkpoints_.confirmable() == pipeline_.confirmed());
}

}  // namespace walpost
