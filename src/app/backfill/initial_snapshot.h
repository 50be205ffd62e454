// InitialSnapshot: publishes the rows that the outbox has already (`snapshot:
// initial`) at the very first start, before the stream begins.
//
//   no slot       create it, with a snapshot of all commits before it ───────┐
//   slot unused   (walpost init): all existing rows ─────────────────────────┤
//   slot used     those of a table that is new in outbox.tables ─────────────┤
//                                                                            ▼
//                      TablePublisher ─▶ acknowledged ─▶ noted in the record
//
// The slot and its birth record come first, so after a crash everything that
// commits from then on is in the stream. A lost transaction is followed by
// another one, behind the last acknowledged row. That one also shows later
// rows, which the stream then repeats. A process that is killed starts with the
// first row again.
//
// With delivery.guarantee: exactly_once it continues behind the last committed
// row (backfill/table_backfill.h). Rows that the stream will have are left
// to it: a look at the slot tells which (app/backfill/pending_slot_events.h).
//
// SnapshotFlow decides; this class carries it out. Owned by the Relay, and on
// its loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "app/backfill/pending_slot_events.h"
#include "app/backfill/snapshot_session.h"
#include "app/backfill/table_publisher.h"
#include "backfill/snapshot_flow.h"
#include "checkpoint/pause_gate.h"
#include "config/config.h"
#include "delivery/delivery_counters.h"
#include "health/relay_signs.h"

namespace walpost {

class InitialSnapshot {
 public:
  // `config` and `pause_gate` outlive this object.
  InitialSnapshot(boost::asio::any_io_executor executor, const Config& config,
                  const PauseGate& pause_gate)
      : executor_(executor),
        config_(config),
        pause_gate_(pause_gate),
        timer_(executor),
        session_(executor, config),
        survey_(executor, config),
        flow_({config.postgres.create, config.transactions.is_on}) {}

  // Returns when the stream may begin; at once if there is nothing to do. If a
  // row cannot be delivered, it tries again every few seconds, until an
  // operator has deleted or corrected the row.
  //
  // kUnavailable: call it again to continue. kCancelled: Stop was called.
  // kFailedPrecondition, kInvalidArgument: an operator must act.
  boost::asio::awaitable<absl::Status> Run();

  // Stops Run soon; records in flight may be acknowledged until `deadline`.
  void Stop(MonotonicTime deadline);

  // Adds signs only while rows are being published.
  void AddTo(RelaySigns& signs) const;
  std::optional<BlockedEvent> stoppage() const;
  // Counts of the rows by their outcome, also after the end of the snapshot.
  DeliveryCounters counters() const;
  // New tables whose rows it has published.
  std::vector<std::string> tables() const;
  // Server that it was made on; empty: there was nothing to do yet.
  const std::string& system_identifier() const {
    return target_.system_identifier;
  }

 private:
  boost::asio::awaitable<void> Step();
  boost::asio::awaitable<void> Open();
  boost::asio::awaitable<void> Begin();
  boost::asio::awaitable<absl::Status> Prepare();
  boost::asio::awaitable<void> ForgetOtherSlot();
  boost::asio::awaitable<void> WarnOfDeletions();
  boost::asio::awaitable<absl::Status> LeaveOutStreamed();
  boost::asio::awaitable<absl::Status> LeaveOutOnRecord();
  boost::asio::awaitable<void> PublishRows();
  boost::asio::awaitable<absl::Status> Record();
  boost::asio::awaitable<void> Wait(std::chrono::milliseconds length);
  absl::Status MakePublisher();
  void MakeLedger();
  void LogDone() const;
  void LogNoEffect() const;
  void LogProgress();
  std::string Progress() const;

  boost::asio::any_io_executor executor_;
  const Config& config_;
  const PauseGate& pause_gate_;
  boost::asio::steady_timer timer_;
  SnapshotSession session_;
  PendingSlotEvents survey_;
  SnapshotFlow flow_;
  SlotHistory history_ = SlotHistory::kUnknown;

  // The slot that everything from here on is for.
  SnapshotSession::Target target_;
  // With exactly_once, once the slot is known.
  std::unique_ptr<TablePublisher::Ledger> ledger_;
  std::unique_ptr<TablePublisher> publisher_;
  DeliveryCounters counters_before_;           // of earlier publishers
  std::optional<BlockedEvent> blocked_event_;  // from the last attempt
  uint64_t done_at_stoppage_ = 0;
  std::optional<MonotonicTime> stop_by_;
  MonotonicTime logged_at_{};
  mutable uint64_t acknowledged_before_ = 0;
  mutable MonotonicTime acknowledged_at_{};
};

}  // namespace walpost
