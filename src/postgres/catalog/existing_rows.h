// ExistingRows: number of rows that an outbox table had before its slot was
// created, or a partition before it was attached.
//
// The slot does not send them. `init`, `check` and `run` warn about them once.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "postgres/connect/connection.h"

namespace walpost {

struct ExistingRows {
  // Rows are counted up to this limit.
  static constexpr uint64_t kLimit = 100'000;

  std::string table;
  // nullopt: not known, because of `trouble`.
  std::optional<uint64_t> count;  // kLimit + 1: more than kLimit
  uint64_t estimate = 0;          // all rows, by the server's statistics
  bool is_missing = false;        // there is no such table
  std::string trouble;            // in the server's words

  // "300 rows", "more than 100,000 rows (about 300,000 by the statistics)".
  std::string ToString() const;
};

// Number of all rows, by the server's statistics; 0: there is no such table.
boost::asio::awaitable<absl::StatusOr<uint64_t>> EstimateRows(
    Connection& connection, std::string table);

// Condition of rows that were written before the command `cmin` of the
// transaction `xmin`.
std::string WrittenBeforeSql(std::string_view xmin, std::string_view cmin);

// Counts rows of transactions before `streamed_from` (an xid8); 0: all rows.
// Takes at most a few seconds for each table: if it is locked or too large, its
// count is reported as not known. With many tables, do not use a replication
// connection. Errors come from the connection.
boost::asio::awaitable<absl::StatusOr<std::vector<ExistingRows>>>
CountExistingRows(Connection& connection, std::vector<std::string> tables,
                  uint64_t streamed_from);

// Counts rows of a partition that were written before the command `cmin` of the
// transaction `xmin`, which attached it. Same limits.
boost::asio::awaitable<absl::StatusOr<ExistingRows>> CountRowsBeforeAttachment(
    Connection& connection, std::string partition, std::string xmin,
    std::string cmin);

}  // namespace walpost
