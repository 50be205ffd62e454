// PartitionPruner: drops partitions that are past once everything in them was
// sent. AddPartitions makes those of the coming days.
//
// A partition goes in one transaction:
//
//   LOCK it against writers    nobody adds to it, whoever did has committed
//   take a mark, wait for it   so all its rows are acknowledged (or, polling:
//                              look whether all are published)
//   DROP it                    for a moment, the lock of the whole outbox
//
// A day that is past has no writers, so the lock holds up nobody. Should one
// come all the same, we see it wait and give up, until the next pass. That
// takes a fraction of a second, and less than the server's deadlock_timeout.
//
// Killed at any point, the partition is there as before, or gone.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "retention/acknowledged_gate.h"
#include "retention/outbox_shape.h"

namespace walpost {

// How many were made; 0 where the table has no function for it. Both outlive
// the coroutine.
boost::asio::awaitable<absl::StatusOr<uint64_t>> AddPartitions(
    Connection& connection, const OutboxShape& shape, size_t days);

class PartitionPruner {
 public:
  // All outlive this object. `sent` is the condition of rows that were sent,
  // where it is not the slot that proves it.
  PartitionPruner(Connection& connection, AcknowledgedGate& gate,
                  const OutboxShape& shape, SentProof proof, std::string sent)
      : connection_(connection),
        gate_(gate),
        shape_(shape),
        proof_(proof),
        sent_(std::move(sent)) {}

  // Whether Drop would, as far as it can be told without a lock.
  boost::asio::awaitable<absl::Status> MayDrop(std::string partition);
  // kUnavailable: it is in use, or holds something that is not acknowledged
  // yet; it is there still.
  boost::asio::awaitable<absl::Status> Drop(std::string partition);

 private:
  boost::asio::awaitable<absl::Status> DropLocked(std::string partition);
  boost::asio::awaitable<absl::Status> CheckAllSent(std::string partition);
  boost::asio::awaitable<absl::Status> Execute(std::string sql);

  Connection& connection_;
  AcknowledgedGate& gate_;
  const OutboxShape& shape_;
  SentProof proof_;
  std::string sent_;
};

}  // namespace walpost
