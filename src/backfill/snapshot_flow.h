// SnapshotFlow: decides the course of the initial snapshot: what comes first,
// what is tried again after which failure, and when it is over.
//
//   kOpen ─▶ kBegin ─▶ kPrepare ─▶ (kSurvey) ─▶ kReadOnRecord ─▶ kPublish
//     ▲                                             ┌────────────────┘
//     │              kReturn ◀─ kRecord ◀─ kEndTransaction
//     └─ kAwaitOperator ─▶ kReplaceSink: a row cannot be delivered
//
// The slot and its birth record come first (kBegin), so after a crash
// everything that commits from then on is in the stream. It is recorded that
// all rows were published only when they are.
//
// Call Next, carry it out, and say with one of the other members what has
// become of it. Pure. Owned by InitialSnapshot, and outlives its runs.
#pragma once

#include "absl/status/status.h"
#include "checkpoint/slot_history.h"

namespace walpost {

class SnapshotFlow {
 public:
  struct Options {
    bool may_make_slot = true;  // postgres.create
    bool has_ledger = false;    // rows are in transactions
  };
  enum class Do {
    kOpen,           // connect, and look at the slot: OnOpened
    kBegin,          // the transaction that shows the rows; makes the slot
    kPrepare,        // the publisher, a new one if the slot is another
    kSurvey,         // which of these rows come through the slot
    kReadOnRecord,   // which of these rows something was decided about
    kPublish,        // a round of TableBackfill: OnPublished
    kAwaitSink,      // a moment, for brokers that were in trouble
    kCheckLock,      // that no other instance has taken over
    kReplaceSink,    // with the next one
    kAwaitOperator,  // some seconds, for a row that cannot be delivered
    kEndTransaction,
    kRecord,  // that everything was published
    kReturn,  // status()
  };
  enum class Shows {
    kAllBeforeSlot,  // exactly what committed before the slot begins
    kPresent,        // also later rows, which the stream repeats
  };

  explicit SnapshotFlow(Options options) : options_(options) {}

  // Begins a run, unless the snapshot is over.
  void Begin();
  Do Next() const { return next_; }
  // The result of Next, without a member of its own.
  void On(const absl::Status& status);
  void OnOpened(SlotHistory history, bool has_new_tables);
  void OnBegun(Shows shows);
  // `is_blocked`: a row cannot be delivered.
  void OnPublished(const absl::Status& status, bool is_blocked,
                   bool sink_failed);
  // After the present step, kReturn comes next.
  void Stop() { is_stopped_ = true; }

  // The slot was replaced by a new one, so all rows are from before it.
  void OnOtherSlot() { is_blocked_ = false; }

  // The server has closed the connection on which rows are read, so failures
  // from then on may pass.
  void OnConnectionLost() { is_lost_ = true; }

  // True if there is nothing to do, or nothing more.
  bool is_done() const { return is_done_; }
  // True from the first row to the end of the attempt.
  bool is_publishing() const { return is_publishing_; }
  // For kReturn. kUnavailable: the next run continues. kCancelled: Stop was
  // called. kFailedPrecondition, kInvalidArgument: an operator must act.
  const absl::Status& status() const { return status_; }

 private:
  void GoOn();
  void EndAttempt(const absl::Status& status);
  void Return(const absl::Status& status);
  void OnRowsFailed(const absl::Status& status);
  void OnRecorded(const absl::Status& status);

  const Options options_;
  bool is_stopped_ = false;
  Do next_ = Do::kReturn;
  absl::Status status_;
  Shows shows_ = Shows::kPresent;
  bool is_lost_ = false;
  bool is_blocked_ = false;
  bool is_publishing_ = false;
  bool all_sent_ = false;  // all rows of the slot are in Kafka
  bool is_done_ = false;
};

}  // namespace walpost
