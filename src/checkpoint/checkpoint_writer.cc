#include "checkpoint/checkpoint_writer.h"

#include <algorithm>
#include <utility>

namespace walpost {

void CheckpointWriter::Begin(Checkpoint saved) {
  saved_ = std::move(saved);
  kafka_cluster_ = saved_.kafka_cluster;
  kafka_topics_ = saved_.kafka_topics;
  ++generation_;
  status_ = absl::OkStatus();
  failing_since_.reset();
  horizon_.Begin();
  begun_ = true;
}

void CheckpointWriter::Poke(MonotonicTime now, WallTime wall_now, bool hurry) {
  if (store_ == nullptr || !begun_ || busy_) return;
  const Lsn confirmed = std::max(saved_.confirmed, pipeline_.confirmed());
  const Position position =
      std::max(saved_.position, pipeline_.acknowledged_through());
  const bool knows_more = kafka_cluster_ != saved_.kafka_cluster ||
                          kafka_topics_ != saved_.kafka_topics;
  const bool idle = position == saved_.position && !knows_more;
  const bool repeats = idle && confirmed == saved_.confirmed;
  const bool first = !saved_.confirmed.is_valid();
  if (repeats && (first || !store_->needs_repeating())) return;
  std::chrono::milliseconds wait = idle ? kIdleInterval : interval_;
  if (hurry || first) wait = std::chrono::milliseconds(0);
  if (repeats) wait = kRepeatInterval;
  if (!status_.ok()) wait = kRetryInterval;
  if (now < tried_at_ + wait) return;
  tried_at_ = now;
  saving_ = saved_;
  saving_.confirmed = confirmed;
  saving_.position = position;
  saving_.kafka_cluster = kafka_cluster_;
  saving_.kafka_topics = kafka_topics_;
  if (position != saved_.position) {
    saving_.commit_xid = pipeline_.acknowledged_commit().xid;
    saving_.commit_time = pipeline_.acknowledged_commit().time;
  }
  saving_.written_at = wall_now;
  saving_.horizon = horizon_.Take(confirmed).value_or(saved_.horizon);
  busy_ = true;
  const auto on_saved = [this, generation = generation_](absl::Status status) {
    OnSaved(generation, status);
  };
  store_->Save(Checkpoint(saving_), on_saved);
}

void CheckpointWriter::OnSaved(uint64_t generation,
                               const absl::Status& status) {
  busy_ = false;
  if (generation != generation_) return;
  status_ = status;
  if (status.ok()) {
    saved_ = saving_;
    failing_since_.reset();
  } else if (!failing_since_) {
    failing_since_ = tried_at_;
  }
  on_saved_();
}

}  // namespace walpost
