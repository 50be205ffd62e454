#include "kafka/checkpoint/transactional_checkpoint.h"

#include "base/time.h"
#include "checkpoint/checkpoint_candidates.h"
#include "checkpoint/checkpoint_codec.h"

namespace walpost {

void TransactionalCheckpoint::Save(const Checkpoint& checkpoint, Saved done) {
  if (sink_ == nullptr) return store_->Save(checkpoint, std::move(done));
  const std::string key = CheckpointKey(slot_, checkpoint.system_identifier);
  const std::string value = EncodeCheckpoint(checkpoint);
  Record record;
  record.topic = topic_;
  record.key = key;
  record.value = value;
  record.timestamp = WallNow();
  const absl::Status produced = sink_->Produce(record, kNoEvent);
  if (!produced.ok()) return done(produced);
  sink_->transactions()->Commit(std::move(done));
}

}  // namespace walpost
