// LockPoller: rows are held by the locks of a transaction. For strategy
// `delete`, and `claim` on a table without a column for a lease.
//
//   BEGIN ─▶ lock ─▶ send ─▶ wait for the brokers ─▶ delete or mark ─▶ COMMIT
//                              └ transaction_timeout: call back the rest
//
// COMMIT comes after the brokers' acknowledgement, so a poller that dies loses
// nothing: its locks end with its connection. The price is an open transaction
// while it waits for Kafka, which holds back vacuum in the whole database;
// hence the deadline. Rows acknowledged by then are settled, the rest is
// unchanged, and each next try waits longer.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "base/backoff.h"
#include "polling/table_poller.h"

namespace walpost {

class LockPoller final : public TablePoller {
 public:
  LockPoller(boost::asio::any_io_executor executor, Options options,
             Outbound& outbound);

 private:
  boost::asio::awaitable<absl::Status> BeginSession() override;
  boost::asio::awaitable<absl::Status> Serve() override;
  MonotonicTime purge_at() const override;

  boost::asio::awaitable<absl::Status> Batch();
  boost::asio::awaitable<absl::Status> WaitForBrokers();
  boost::asio::awaitable<absl::Status> Settle();
  bool is_delete() const {
    return options_.polling.strategy == PollingOptions::Strategy::kDelete;
  }

  MonotonicTime next_at_{};
  MonotonicTime kafka_again_at_{};  // after it did not answer in time
  // Deadline of the open transaction; long past if there is none: without a
  // transaction nothing holds the rows.
  MonotonicTime deadline_{};
  Backoff kafka_backoff_;
};

}  // namespace walpost
