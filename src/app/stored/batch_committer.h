// BatchCommitter: writes a record into the transactions of a StoredEventSender,
// besides the events, so that a successor knows what is settled.
//
// Runs on the loop. Owned by its sender.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "absl/status/status.h"
#include "app/sink/delivery_run.h"
#include "app/sink/ledger_record.h"
#include "app/sink/sinks.h"
#include "checkpoint/topic_record.h"
#include "parking/stored_batch.h"

namespace walpost {

class BatchCommitter {
 public:
  virtual ~BatchCommitter() = default;

  // The sink of `run` takes over from earlier ones, and the batch learns what
  // they have committed. Errors are those of DeliveryRun::TakeOver;
  // kFailedPrecondition, too, if that cannot be read.
  virtual boost::asio::awaitable<absl::Status> Open(DeliveryRun& run,
                                                    StoredBatch& batch) = 0;
  // Commits what `run` has sent, for StoredBatch::Do::kCommit. Errors are those
  // of DeliveryRun::Commit.
  virtual boost::asio::awaitable<absl::Status> Commit(
      DeliveryRun& run, const StoredBatch& batch) = 0;
  // Stops waiting for Kafka, for good.
  virtual void Stop() = 0;
};

// LedgerCommitter: a ledger in the checkpoint topic (release_ledger.h), for
// stored events that are marked in Postgres after the commit.
class LedgerCommitter final : public BatchCommitter {
 public:
  // Arguments: LedgerRecord.
  LedgerCommitter(boost::asio::any_io_executor executor, RecordReader reader,
                  TopicRecord place);

  boost::asio::awaitable<absl::Status> Open(DeliveryRun& run,
                                            StoredBatch& batch) override;
  boost::asio::awaitable<absl::Status> Commit(
      DeliveryRun& run, const StoredBatch& batch) override;
  void Stop() override { record_.Stop(); }

 private:
  LedgerRecord record_;
};

}  // namespace walpost
