// LedgerRecord: the record in the checkpoint topic that each transaction of a
// sender beside the stream writes, so that its successor knows what was
// committed.
//
//   Open: fence who did it before ──▶ read the record ──▶ Commit ──▶ Commit ...
//
// Runs on the loop. Owned by who fills the record: SnapshotLedger,
// StoredEventSender.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/sink/delivery_run.h"
#include "app/sink/sinks.h"
#include "checkpoint/topic_record.h"

namespace walpost {

class LedgerRecord {
 public:
  LedgerRecord(boost::asio::any_io_executor executor, RecordReader reader,
               TopicRecord place);

  // The sink of `run` takes over from earlier ones. Returns what is committed;
  // empty: nothing is.
  //
  // kUnavailable: try again. kFailedPrecondition: an operator must act: a
  // right, a limit of the brokers. kCancelled: stopped.
  boost::asio::awaitable<absl::StatusOr<std::string>> Open(DeliveryRun& run);
  // Commits what `run` has sent, with this record. Requires that all of it is
  // acknowledged. After an error the sink has failed, and whether it is
  // committed is not known: Open tells.
  boost::asio::awaitable<absl::Status> Commit(DeliveryRun& run,
                                              std::string value);
  // Stops waiting for Kafka, for good.
  void Stop() { stop_.request_stop(); }

  // An error about what the record has: names it.
  absl::Status Unreadable(std::string_view why) const;

 private:
  boost::asio::awaitable<absl::StatusOr<std::string>> Read();

  boost::asio::any_io_executor executor_;
  RecordReader reader_;
  TopicRecord place_;
  std::stop_source stop_;
};

}  // namespace walpost
