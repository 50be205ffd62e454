// PartitionMonitor: notices a partition that had rows when it was attached.
//
// Postgres sends rows that are inserted through the outbox. Rows that a table
// had before ALTER TABLE ... ATTACH PARTITION are in the outbox from then on,
// but were never sent; unless they had been inserted through the outbox before
// and were moved, which cannot be known. So they are reported, and Kafka has to
// be checked.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"

namespace walpost {

class PartitionMonitor {
 public:
  explicit PartitionMonitor(std::vector<TableOptions> tables)
      : tables_(std::move(tables)) {}

  // Checks the next unknown partition, for a few seconds at most; returns a
  // warning if it had such rows. Among the partitions of the first pass, it
  // only checks those that were created in one transaction and attached in
  // another. Errors come from the connection.
  boost::asio::awaitable<absl::StatusOr<std::optional<Finding>>> Look(
      Connection& connection);

  // True if the last look found no unknown partition.
  bool is_through() const { return is_through_; }

 private:
  std::vector<TableOptions> tables_;
  // By oid and attaching transaction.
  std::set<std::pair<uint64_t, std::string>> known_;
  bool is_through_ = false;
};

}  // namespace walpost
