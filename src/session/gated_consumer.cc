#include "session/gated_consumer.h"

#include <algorithm>

namespace walpost {

GatedConsumer::GatedConsumer(WalProgress& progress,
                             const CheckpointWriter& checkpoints,
                             PassedOverRows& passed_over,
                             const PauseGate& pause_gate,
                             TransactionBatcher* batcher)
    : progress_(progress),
      checkpoints_(checkpoints),
      passed_over_(passed_over),
      pause_gate_(pause_gate),
      batcher_(batcher) {
  progress_.sender().TryAlone([batcher] {
    if (batcher != nullptr) batcher->OnWithdrawn();
  });
}

EventConsumer::Offer GatedConsumer::OnEvent(const Event& event,
                                            const absl::Status& mapped) {
  const Offer offer = Take(event, mapped);
  const bool is_taken = offer == Offer::kAccepted && mapped.ok();
  if (is_taken && sample_ != nullptr) sample_->Note(event);
  return offer;
}

EventConsumer::Offer GatedConsumer::Take(const Event& event,
                                         const absl::Status& mapped) {
  if (!MayTake()) return Offer::kBackpressure;
  if (batcher_ == nullptr) return progress_.OnEvent(event, mapped);
  const DeliveryCounters& counters = progress_.sender().counters();
  const uint64_t records = counters.produced;
  const uint64_t bytes = counters.value_bytes;
  const Offer offer = progress_.OnEvent(event, mapped);
  // Held events may have records, too (Sender::TryAlone).
  if (offer == Offer::kAccepted || counters.produced != records) {
    batcher_->OnEvent(counters.produced - records,
                      counters.value_bytes - bytes);
  }
  return offer;
}

void GatedConsumer::OnTransactionEnd(Lsn end_lsn) {
  progress_.OnTransactionEnd(end_lsn);
  if (batcher_ != nullptr) batcher_->OnBoundary();
}

bool GatedConsumer::OnPassedOver(const OtherRelation& relation) {
  const Lsn resumed = progress_.acknowledged_through().commit_lsn;
  if (relation.commit_lsn < resumed) return false;
  passed_over_.OnRow(relation.oid, relation.name, relation.commit_lsn);
  return true;
}

Lsn GatedConsumer::confirmable() const {
  const Lsn stored = checkpoints_.confirmable();
  return std::min({progress_.confirmable(), stored, passed_over_.limit()});
}

bool GatedConsumer::IsDrained() const {
  const bool is_given_up = batcher_ != nullptr && batcher_->is_inside();
  return progress_.IsDrained() &&
         (is_given_up || (checkpoints_.confirmable() == progress_.confirmed() &&
                          !checkpoints_.knows_more()));
}

}  // namespace walpost
