// SnapshotLedger: the initial snapshot in Kafka transactions, with its progress
// in each.
//
//   Open: fence who did it before ──▶ read the progress
//   rows ──▶ OnRow ──▶ IsDue ──▶ Commit: the progress, too ──▶ rows ──▶ ...
//
// Rows that were not committed are read again, behind the progress, by whoever
// opens it next. So whoever opens it must hold the lock of the snapshot. After
// a failure the next transactions are small: 1 record, 2, 4, ...
//
// Owned by InitialSnapshot, and on its loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/backfill/snapshot_progress.h"
#include "app/sink/delivery_run.h"
#include "app/sink/ledger_record.h"
#include "base/lsn.h"
#include "base/time.h"

namespace walpost {

class SnapshotLedger {
 public:
  // `topic`: that of the checkpoints. `begins_at`: the slot. `tables`: those
  // that are new (Coverage::ToString); empty: the slot's first snapshot.
  SnapshotLedger(boost::asio::any_io_executor executor, RecordReader reader,
                 std::string topic, std::string slot,
                 std::string system_identifier, Lsn begins_at,
                 const std::string& tables);

  // The sink's, different from that of the stream.
  const std::string& transactional_id() const { return transactional_id_; }

  // The sink of `run` takes over from earlier ones. Returns the progress of
  // whoever did it before.
  //
  // kUnavailable: try again. kFailedPrecondition: an operator must act: a
  // right, a limit of the brokers, a record that cannot be read.
  boost::asio::awaitable<absl::StatusOr<SnapshotProgress>> Open(
      DeliveryRun& run);
  void OnRow(size_t bytes, MonotonicTime now);
  bool IsDue(MonotonicTime now) const;
  // Requires that all rows so far are acknowledged. After an error the sink has
  // failed, and what has become of them is not known: Open tells.
  boost::asio::awaitable<absl::Status> Commit(DeliveryRun& run,
                                              const SnapshotProgress& progress);

  // Stops waiting for Kafka, for good.
  void Stop() { record_.Stop(); }

 private:
  absl::StatusOr<SnapshotProgress> Parse(std::string_view text) const;

  std::string transactional_id_;
  LedgerRecord record_;
  Lsn begins_at_;

  std::optional<SnapshotProgress> committed_;  // by this process
  uint64_t limit_;  // of records; rises again after a failure
  uint64_t records_ = 0;
  size_t bytes_ = 0;
  std::optional<MonotonicTime> begun_at_;
};

}  // namespace walpost
