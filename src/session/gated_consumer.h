// GatedConsumer: WalProgress, as the live stream sees it. An LSN is confirmed
// only once its checkpoint is stored, and once it is on record which rows were
// passed over before it. Nothing is taken while a transaction of the sink is
// being committed, nor while an operator has paused the slot.
#pragma once

#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/passed_over_rows.h"
#include "checkpoint/pause_gate.h"
#include "delivery/event_consumer.h"
#include "delivery/transaction_batcher.h"
#include "delivery/wal_progress.h"
#include "health/published_sample.h"

namespace walpost {

class GatedConsumer final : public EventConsumer {
 public:
  // All outlive this object. `batcher`: nullptr if the sink has no
  // transactions.
  GatedConsumer(WalProgress& progress, const CheckpointWriter& checkpoints,
                PassedOverRows& passed_over, const PauseGate& pause_gate,
                TransactionBatcher* batcher = nullptr);

  // Notes events in `sample`, which outlives this object.
  void SampleEvents(PublishedSample& sample) { sample_ = &sample; }

  bool CanTake() const override { return MayTake() && progress_.CanTake(); }
  Offer OnEvent(const Event& event, const absl::Status& mapped) override;
  void OnTransactionEnd(Lsn end_lsn) override;
  void OnKeepalive(Lsn wal_end) override { progress_.OnKeepalive(wal_end); }
  // Does not note rows in a repeated part of the stream: there, it is on record
  // whose rows were passed over, or the rows were sent.
  bool OnPassedOver(const OtherRelation& relation) override;

  Lsn confirmable() const override;
  // Ignores a part of a source transaction that must be whole: that part is
  // given up.
  bool IsDrained() const override;
  absl::Status Health() const override { return progress_.Health(); }

 private:
  Offer Take(const Event& event, const absl::Status& mapped);
  bool MayTake() const {
    return pause_gate_.may_send() &&
           (batcher_ == nullptr || batcher_->MayTake());
  }

  WalProgress& progress_;
  const CheckpointWriter& checkpoints_;
  PassedOverRows& passed_over_;
  const PauseGate& pause_gate_;
  TransactionBatcher* batcher_;
  PublishedSample* sample_ = nullptr;
};

}  // namespace walpost
