// PartitionPruner: drops partitions that are past once everything in them was
// sent. AddPartitions creates those of the coming days.
//
//   look                       a row that was not sent: the partition stays
//
// and then, in one transaction:
//
//   LOCK it against writers    nobody adds rows; earlier writers have committed
//   look again                 rows that were added meanwhile were not sent
//   DROP it                    for a moment, the lock of the whole outbox
//
// A past day has no writers, so the lock blocks nobody. If the slot is the
// proof, the second look reads some thousand pages at a time: if a writer comes
// nevertheless, we see it wait and give up, until the next pass. That takes a
// fraction of a second, less than the server's deadlock_timeout. (Pollers come
// all the time: they wait.)
//
// If killed at any point, the partition is unchanged or dropped.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "postgres/connect/connection.h"
#include "retention/outbox_shape.h"
#include "retention/prune_sql.h"

namespace walpost {

// Returns the number created; 0 if the table has no function for it. Both
// references outlive the coroutine.
boost::asio::awaitable<absl::StatusOr<uint64_t>> AddPartitions(
    Connection& connection, const OutboxShape& shape, size_t days);

class PartitionPruner {
 public:
  // The connection outlives this object.
  PartitionPruner(Connection& connection, SentProof proof)
      : connection_(connection), proof_(proof) {}

  // Returns OK if Drop would drop it, as far as known without a lock. The
  // partition is the table of `rule`.
  boost::asio::awaitable<absl::Status> MayDrop(PruneRule rule);
  // kUnavailable: it is in use, or contains rows that were not sent; it is
  // unchanged.
  boost::asio::awaitable<absl::Status> Drop(PruneRule rule);

  // In all partitions that were checked: rows that were not sent, and those
  // among them that are not covered.
  uint64_t kept() const { return kept_; }
  uint64_t unproven() const { return unproven_; }

 private:
  boost::asio::awaitable<absl::Status> DropLocked(PruneRule rule);
  boost::asio::awaitable<absl::Status> CheckAgain(PruneRule rule);
  boost::asio::awaitable<absl::Status> CheckPages(PruneRule rule);
  boost::asio::awaitable<absl::Status> CheckNobodyWaits(std::string partition);
  boost::asio::awaitable<absl::Status> Execute(std::string sql);
  // Runs a statement that returns one value.
  boost::asio::awaitable<absl::StatusOr<bool>> IsTrue(std::string sql);

  Connection& connection_;
  SentProof proof_;
  uint64_t kept_ = 0;
  uint64_t unproven_ = 0;
};

}  // namespace walpost
