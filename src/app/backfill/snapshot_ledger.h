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
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/backfill/snapshot_progress.h"
#include "app/sink/delivery_run.h"
#include "base/lsn.h"
#include "base/time.h"
#include "kafka/checkpoint/topic_record.h"
#include "kafka/client/producer_options.h"

namespace walpost {

class SnapshotLedger {
 public:
  // `topic`: that of the checkpoints. `begins_at`: the slot. `tables`: those
  // that are new (Coverage::ToString); empty: the slot's first snapshot.
  SnapshotLedger(boost::asio::any_io_executor executor, ProducerOptions kafka,
                 std::string topic, std::string slot,
                 std::string system_identifier, Lsn begins_at,
                 const std::string& tables);

  // The sink's, different from that of the stream.
  std::string transactional_id() const;

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
  void Stop() { stop_.request_stop(); }

 private:
  boost::asio::awaitable<absl::StatusOr<std::string>> ReadRecord();
  absl::StatusOr<SnapshotProgress> Parse(
      const absl::StatusOr<std::string>& text) const;

  boost::asio::any_io_executor executor_;
  ProducerOptions kafka_;
  TopicRecord record_;
  std::string slot_;
  Lsn begins_at_;
  std::stop_source stop_;

  std::optional<SnapshotProgress> committed_;  // by this process
  uint64_t limit_;  // of records; rises again after a failure
  uint64_t records_ = 0;
  size_t bytes_ = 0;
  std::optional<MonotonicTime> begun_at_;
};

}  // namespace walpost
