// TransactionalCheckpoint: writes the checkpoint of our slot in the Kafka
// transaction of the events that it covers, and commits it.
//
//   events ──▶ Sink ──▶ transaction ──▶ commit
//   checkpoint ──Save──▶    ▲
//
// So events and checkpoint become visible together, or not at all (P5). Without
// a sink, for a gap that is to be kept, it writes as the CheckpointTopic does.
//
// Owned by the CheckpointService, on its loop.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "checkpoint/checkpoint_store.h"
#include "delivery/record_sink.h"
#include "kafka/checkpoint/checkpoint_topic.h"

namespace walpost {

class TransactionalCheckpoint final : public CheckpointStore {
 public:
  TransactionalCheckpoint(std::unique_ptr<CheckpointTopic> store,
                          std::string topic, std::string slot)
      : store_(std::move(store)),
        topic_(std::move(topic)),
        slot_(std::move(slot)) {}

  // `sink` has transactions.
  void SetSink(Sink* sink) override { sink_ = sink; }

  bool is_shared_by_systems() const override { return true; }
  void SetSource(SourceIdentity identity) override {
    store_->SetSource(std::move(identity));
  }
  void Load(Loaded done) override { store_->Load(std::move(done)); }
  bool is_ready() const override {
    return sink_ == nullptr || sink_->transactions()->is_open();
  }
  // Requires that every record so far was acknowledged. After an error the sink
  // has failed.
  void Save(const Checkpoint& checkpoint, Saved done) override;
  void Replace(const Checkpoint& checkpoint, Saved done) override {
    store_->Replace(checkpoint, std::move(done));
  }
  std::string Name() const override { return store_->Name(); }
  std::string HowToRemove(const Checkpoint& checkpoint) const override {
    return store_->HowToRemove(checkpoint);
  }

 private:
  std::unique_ptr<CheckpointTopic> store_;
  std::string topic_;
  std::string slot_;
  Sink* sink_ = nullptr;
};

}  // namespace walpost
