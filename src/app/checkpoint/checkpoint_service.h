// CheckpointService: the configured checkpoint store, read at the start of
// every session and written while it lasts.
//
// Owned by the Relay, and on its loop. CheckpointWriter decides what is due and
// which LSN may be confirmed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/birth_record.h"
#include "checkpoint/checkpoint_scope.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/slot_history.h"
#include "config/config.h"
#include "delivery/gap.h"
#include "health/relay_signs.h"
#include "health/relay_status.h"
#include "postgres/slot/observed_slot.h"
#include "postgres/stream/monitor_session.h"

namespace walpost {

class PendingLoad;

class CheckpointService {
 public:
  // `progress`, `batcher` and `passed_over` outlive this object. `batcher`,
  // `on_saved`: see CheckpointWriter.
  CheckpointService(boost::asio::any_io_executor executor, const Config& config,
                    const WalProgress& progress, TransactionBatcher* batcher,
                    PassedOverRows& passed_over,
                    std::function<void()> on_saved);

  // Loads loaded() from the store; every time, because another instance may
  // have had the slot. Does nothing without a store.
  //
  // A checkpoint whose ordinal counts other events than ours has lost its
  // position (Renumber).
  //
  // kUnavailable: try again. kFailedPrecondition: an operator must act; it has
  // a reason code if the cause is the checkpoint's content.
  boost::asio::awaitable<absl::Status> Load();
  const std::optional<Checkpoint>& loaded() const { return loaded_; }
  bool is_loading() const { return asked_ != nullptr; }

  // The system of the source, as of the last Load; empty: the store did not
  // ask.
  const std::string& system_identifier() const { return system_identifier_; }

  // A session begins, on this slot and with this numbering. `sink`: what it
  // produces to, for checkpoints in its transactions.
  void Begin(CheckpointScope session, Sink* sink);
  // Stores a gap so that it outlives this process. Tries once; the next session
  // tries again. Afterwards the store is free for a verb that settles the gap.
  boost::asio::awaitable<void> Keep(Gap gap, CheckpointScope session);
  // Writes a checkpoint if one is due; `hurry`: at once.
  void SaveIfDue(bool hurry);
  // Passes on a report of the side session.
  void OnReport(const SlotReport& report);
  // The session is over.
  void Pause();
  // See CheckpointWriter.
  void ForgetFailure() { writer_.ForgetFailure(); }

  void NoteKafka(const std::string& cluster, const std::string& topics) {
    writer_.NoteKafka(cluster, topics);
  }

  const CheckpointWriter& writer() const { return writer_; }

  void AddTo(RelayStatus& status) const;
  void AddTo(RelaySigns& signs) const;

 private:
  bool KnowsLast() const;
  boost::asio::awaitable<void> StoreGap(Gap gap, CheckpointScope session);
  CheckpointScope Complete(CheckpointScope session) const;

  boost::asio::any_io_executor executor_;
  std::string slot_;
  WalSourceOptions postgres_;
  uint64_t numbering_;
  bool has_transaction_ids_;  // a table says who inserted a row
  std::string system_identifier_;
  bool is_in_kafka_;
  bool is_in_transactions_;                 // of the sink
  std::unique_ptr<CheckpointStore> store_;  // nullptr: none
  CheckpointWriter writer_;
  std::optional<Checkpoint> loaded_;
  std::optional<MonotonicTime> unread_since_;
  bool has_gap_ = false;                // since the last stream
  bool is_storing_gap_ = false;         // without an answer
  std::shared_ptr<PendingLoad> asked_;  // a pending load
  boost::asio::steady_timer busy_timer_;
};

// Loads the checkpoint from the configured store, unchanged; nullopt if there
// is no store. For verbs.
boost::asio::awaitable<absl::StatusOr<std::optional<Checkpoint>>>
LoadCheckpoint(boost::asio::any_io_executor executor, const Config& config);

// The same beside a walpost that runs, and has the lock of a file.
boost::asio::awaitable<absl::StatusOr<std::optional<Checkpoint>>>
ReadCheckpoint(boost::asio::any_io_executor executor, const Config& config);

// Writes a checkpoint into the configured store; does nothing if there is no
// store. For a slot that was created again.
boost::asio::awaitable<absl::Status> StoreCheckpoint(
    boost::asio::any_io_executor executor, const Config& config,
    Checkpoint checkpoint);

// Finds out whether a slot has been streamed from: asks the server and, if it
// matters, the checkpoint store. Errors are those of the store. An unreadable
// checkpoint counts as a checkpoint: it is reported when the stream begins.
// Both references outlive the coroutine.
boost::asio::awaitable<absl::StatusOr<SlotHistory>> FindStreamHistory(
    boost::asio::any_io_executor executor, const Config& config,
    const ObservedSlot& sight);

// The recorded coverage (checkpoint/coverage.h) of the tables that were
// streamed: that of the checkpoint, which has the tables that were streamed
// last, merged with that of the birth record. Errors come from the store.
// `config` and `birth` outlive the coroutine.
boost::asio::awaitable<absl::StatusOr<std::string>> ReadKnownCoverage(
    boost::asio::any_io_executor executor, const Config& config,
    const std::optional<BirthRecord>& birth);

}  // namespace walpost
