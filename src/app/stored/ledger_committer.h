// LedgerCommitter: a ledger in the checkpoint topic (release_ledger.h), for
// stored events that are marked in Postgres after the commit.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "absl/status/status.h"
#include "app/sink/ledger_record.h"
#include "app/sink/sinks.h"
#include "app/stored/batch_committer.h"
#include "checkpoint/topic_record.h"

namespace walpost {

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
