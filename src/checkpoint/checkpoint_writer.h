// CheckpointWriter: keeps the stored LSN ahead of the confirmed LSN.
//
//   acknowledged ──▶ checkpoint ──▶ confirmed to Postgres
//
// A checkpoint is written before the matching feedback is sent, so a slot that
// is ahead of the checkpoint was moved by somebody else (P9). Without a store,
// acknowledged LSNs may be confirmed at once.
//
// Owned by the Relay; the store and the progress outlive it. Pure except for
// the store; the caller passes the time.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/time.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/passed_over_rows.h"
#include "checkpoint/xmin_horizon_tracker.h"
#include "delivery/transaction_batcher.h"
#include "delivery/wal_progress.h"

namespace walpost {

class CheckpointWriter {
 public:
  // Minimum time between two checkpoints that differ only in idle progress:
  // writing one may itself produce WAL.
  static constexpr std::chrono::seconds kIdleInterval{10};
  // Interval for a store with needs_repeating(), when nothing has changed.
  static constexpr std::chrono::seconds kRepeatInterval{60};
  // Interval after a save that failed.
  static constexpr std::chrono::seconds kRetryInterval{1};

  // `store` may be nullptr: none. `batcher`: saving a checkpoint commits the
  // sink's transaction; nullptr: it has none. `on_saved` is called after each
  // save, successful or not. `passed_over`: rows that must be on record before
  // their LSN is confirmed; nullptr: none.
  CheckpointWriter(CheckpointStore* store, std::chrono::milliseconds interval,
                   const WalProgress& progress, std::function<void()> on_saved,
                   TransactionBatcher* batcher = nullptr,
                   PassedOverRows* passed_over = nullptr)
      : store_(store),
        interval_(interval),
        progress_(progress),
        on_saved_(std::move(on_saved)),
        batcher_(batcher),
        passed_over_(passed_over) {}

  bool has_store() const { return store_ != nullptr; }

  // Sets whose checkpoints are written. `saved` is stored already.
  void Begin(Checkpoint saved);

  // Writes a checkpoint if one is due: events were acknowledged since the last
  // one and the interval has passed; or there is only idle progress and
  // kIdleInterval has passed; or the store needs the last one again. `hurry`:
  // at once if there is any progress.
  void SaveIfDue(MonotonicTime now, WallTime wall_now, bool hurry);

  // A sample that the server reported beside the stream, in order: the next
  // checkpoints get their horizon from it.
  void OnHorizon(const HorizonSample& sample) {
    if (begun_) horizon_.OnSample(sample, progress_.confirmed());
  }

  // Kafka cluster and topics that acknowledge, if not known at Begin.
  void NoteKafka(const std::string& cluster, const std::string& topics) {
    kafka_cluster_ = cluster;
    kafka_topics_ = topics;
  }

  // True if the store lacks which brokers and topics have the events.
  bool knows_more() const {
    return has_store() && begun_ &&
           (kafka_cluster_ != saved_.kafka_cluster ||
            kafka_topics_ != saved_.kafka_topics);
  }

  // LSN to confirm to Postgres: as WalProgress has it, and stored.
  Lsn confirmable() const;

  // WalProgress::settled_through, without progress that a rewind may take back.
  Position settled_through() const;

  // Stops writing until Begin, because another instance has the slot.
  void Pause() { begun_ = false; }
  // The transaction that was not committed is void, and another one begins.
  void ForgetFailure() {
    if (batcher_ != nullptr) status_ = absl::OkStatus();
  }

  // The newest stored checkpoint; empty before Begin.
  const Checkpoint& saved() const { return saved_; }
  // Error of the last attempt; ok after a success. kAborted: another instance
  // writes as well.
  const absl::Status& status() const { return status_; }
  // The stream must end: another instance has written a later checkpoint, and
  // so has the slot; or the transaction was not committed, as far as is known.
  bool must_end() const;
  // True while the store works: do not use it until it has answered.
  bool is_busy() const { return busy_; }
  // Time since which the store works; nullopt: it does not.
  std::optional<MonotonicTime> busy_since() const {
    return busy_ ? std::optional(tried_at_) : std::nullopt;
  }
  // When the last attempt began.
  MonotonicTime tried_at() const { return tried_at_; }
  // Start of the failing attempts; nullopt after a success.
  std::optional<MonotonicTime> failing_since() const { return failing_since_; }

 private:
  // With a batcher: progress that no rewind takes back. The stored checkpoint
  // is not enough, because the server may have been restored since.
  struct Progress {
    Lsn confirmed;
    Position settled_through;
  };

  absl::Status TransactionTooLarge() const;
  bool IsDue(MonotonicTime now, bool hurry);
  void Save(MonotonicTime now, WallTime wall_now);
  void OnSaved(uint64_t generation, const absl::Status& status);
  Progress CurrentProgress() const {
    return {progress_.confirmed(), progress_.settled_through()};
  }
  Position NextPosition() const {
    return std::max(saved_.position, progress_.acknowledged_through());
  }

  CheckpointStore* store_;
  std::chrono::milliseconds interval_;
  const WalProgress& progress_;
  std::function<void()> on_saved_;
  TransactionBatcher* batcher_;
  PassedOverRows* passed_over_;
  PassedOver saving_passed_over_;
  XminHorizonTracker horizon_;
  bool begun_ = false;
  bool busy_ = false;  // a store call is pending
  Progress committed_;
  Progress committing_;
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
