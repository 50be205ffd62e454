// PartitionPruner: drops partitions that are past once everything in them was
// sent. AddPartitions makes those of the coming days.
//
//   look                       one row that was not sent: the partition stays
//
// and then, in one transaction:
//
//   LOCK it against writers    nobody adds to it, whoever did has committed
//   look again                 what was added meanwhile was not sent
//   DROP it                    for a moment, the lock of the whole outbox
//
// A day that is past has no writers, so the lock holds up nobody. Where the
// slot is the proof, the second look goes through some thousand pages at a
// time: should a writer come all the same, we see it wait and give up, until
// the next pass. That takes a fraction of a second, and less than the server's
// deadlock_timeout. (Pollers come all the time: they wait.)
//
// Killed at any point, the partition is there as before, or gone.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "postgres/connection.h"
#include "retention/outbox_shape.h"
#include "retention/prune_sql.h"

namespace walpost {

// How many were made; 0 where the table has no function for it. Both outlive
// the coroutine.
boost::asio::awaitable<absl::StatusOr<uint64_t>> AddPartitions(
    Connection& connection, const OutboxShape& shape, size_t days);

class PartitionPruner {
 public:
  // The connection outlives this object.
  PartitionPruner(Connection& connection, SentProof proof)
      : connection_(connection), proof_(proof) {}

  // Whether Drop would, as far as it can be told without a lock. The partition
  // is the table of `rule`.
  boost::asio::awaitable<absl::Status> MayDrop(PruneRule rule);
  // kUnavailable: it is in use, or holds something that was not sent; it is
  // there still.
  boost::asio::awaitable<absl::Status> Drop(PruneRule rule);

  // Of all partitions that were looked at: rows that were not sent, and those
  // of them that are not covered.
  uint64_t kept() const { return kept_; }
  uint64_t unproven() const { return unproven_; }

 private:
  boost::asio::awaitable<absl::Status> DropLocked(PruneRule rule);
  boost::asio::awaitable<absl::Status> CheckAgain(PruneRule rule);
  boost::asio::awaitable<absl::Status> CheckPages(PruneRule rule);
  boost::asio::awaitable<absl::Status> CheckNobodyWaits(std::string partition);
  boost::asio::awaitable<absl::Status> Execute(std::string sql);
  // The statement's only value.
  boost::asio::awaitable<absl::StatusOr<bool>> IsTrue(std::string sql);

  Connection& connection_;
  SentProof proof_;
  uint64_t kept_ = 0;
  uint64_t unproven_ = 0;
};

}  // namespace walpost
