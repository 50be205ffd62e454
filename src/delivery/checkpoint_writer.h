// CheckpointWriter: keeps the stored LSN ahead of what Postgres is told.
//
//   acknowledged ──▶ checkpoint ──▶ confirmed to Postgres
//
// A checkpoint is written before the matching feedback is sent, so a slot that
// is ahead of the checkpoint was moved by somebody else (P9). Without a store
// what is acknowledged may be confirmed at once.
//
// Owned by the Relay; the store and the pipeline outlive it. Pure but for the
// store that it is given; it is told the time.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/time.h"
#include "delivery/checkpoint.h"
#include "delivery/checkpoint_store.h"
#include "delivery/horizon_tracker.h"
#include "delivery/pipeline.h"

namespace walpost {

class CheckpointWriter {
 public:
  // Least time between two checkpoints that differ in nothing but idle
  // progress: writing one may itself be WAL.
  static constexpr std::chrono::seconds kIdleInterval{10};
  // For a store that needs it, when nothing has changed.
  static constexpr std::chrono::seconds kRepeatInterval{60};
  // After a save that failed.
  static constexpr std::chrono::seconds kRetryInterval{1};

  // `store` may be nullptr: none. `on_saved` is called after each save,
  // successful or not.
  CheckpointWriter(CheckpointStore* store, std::chrono::milliseconds interval,
                   const Pipeline& pipeline, std::function<void()> on_saved)
      : store_(store),
        interval_(interval),
        pipeline_(pipeline),
        on_saved_(std::move(on_saved)) {}

  bool has_store() const { return store_ != nullptr; }

  // Of whom the next checkpoints speak. `saved` is in the store already.
  void Begin(Checkpoint saved);

  // Writes a checkpoint when one is due: events were acknowledged since the
  // last one and the interval has passed, or nothing but idle progress and
  // kIdleInterval has; or the last one once more, where the store needs that.
  // `hurry`: at once if there is any progress.
  void Poke(MonotonicTime now, WallTime wall_now, bool hurry);

  // What the server said beside the stream, one sample after the other: the
  // next checkpoints get their horizon from it.
  void OnHorizon(const HorizonSample& sample) {
    if (begun_) horizon_.OnSample(sample, pipeline_.confirmed());
  }

  // Which Kafka acknowledges, and in which topics, when that was not known at
  // Begin.
  void NoteKafka(const std::string& cluster, const std::string& topics) {
    kafka_cluster_ = cluster;
    kafka_topics_ = topics;
  }

  // What may be told to Postgres: confirmed by the pipeline, and stored.
  Lsn confirmable() const {
    const Lsn confirmed = pipeline_.confirmed();
    return store_ == nullptr ? confirmed
                             : std::min(saved_.confirmed, confirmed);
  }

  // Stop writing, until Begin: the slot is not ours just now.
  void Pause() { begun_ = false; }

  // The newest that is stored; nothing in it before Begin.
  const Checkpoint& saved() const { return saved_; }
  // Why the last attempt failed; ok after a success. kAborted: another
  // instance writes, too.
  const absl::Status& status() const { return status_; }
  // Whether the store is at work: leave it alone until it has answered.
  bool is_busy() const { return busy_; }
  // Since when attempts fail; nullopt after a success.
  std::optional<MonotonicTime> failing_since() const { return failing_since_; }

 private:
  void OnSaved(uint64_t generation, const absl::Status& status);

  CheckpointStore* store_;
  std::chrono::milliseconds interval_;
  const Pipeline& pipeline_;
  std::function<void()> on_saved_;
  HorizonTracker horizon_;
  bool begun_ = false;
  bool busy_ = false;  // the store works
  uint64_t generation_ =
      0;  // of Begin: later answers to earlier saves are void
  Checkpoint saved_;
  Checkpoint saving_;
  std::string kafka_cluster_;
  std::string kafka_topics_;
  MonotonicTime tried_at_{};
  std::optional<MonotonicTime> failing_since_;
  absl::Status status_;
};

}  // namespace walpost
