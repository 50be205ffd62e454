// PartitionWatch: notices a partition that had rows when it was attached.
//
// Postgres sends what is inserted through the outbox. Rows that a table had
// before ALTER TABLE ... ATTACH PARTITION made it a part of the outbox are in
// the outbox from then on, and were never sent: unless they had been inserted
// through it before and were moved, which cannot be known. So they are named,
// and Kafka has to be asked.
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
#include "postgres/connection.h"

namespace walpost {

class PartitionWatch {
 public:
  explicit PartitionWatch(const std::vector<TableOptions>& tables);

  // Looks into the next partition that it does not know yet, a few seconds at
  // most; a warning, when that had such rows. Of those that are there at first,
  // only ones that were made in one transaction and attached in another are
  // looked into. An error is one of the connection.
  boost::asio::awaitable<absl::StatusOr<std::optional<Finding>>> Look(
      Connection& connection);

  // The last look found none that it did not know.
  bool is_through() const { return is_through_; }

 private:
  std::vector<std::string> tables_;
  // By oid and the transaction that attached it.
  std::set<std::pair<uint64_t, std::string>> known_;
  bool is_through_ = false;
};

}  // namespace walpost
