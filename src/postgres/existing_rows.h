// ExistingRows: how many rows an outbox table had before its slot was made, or
// a partition before it was attached.
//
// The slot does not bring them. Somebody has to be told, once: by `init`, by
// `check`, and by `run`.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "postgres/connection.h"

namespace walpost {

struct ExistingRows {
  // Rows are counted up to here.
  static constexpr uint64_t kLimit = 100'000;

  std::string table;
  // nullopt: it cannot be known, because of `trouble`.
  std::optional<uint64_t> count;  // kLimit + 1: more than kLimit
  uint64_t estimate = 0;          // all rows, by the server's statistics
  std::string trouble;            // in the server's words

  // "300 rows", "more than 100,000 rows (about 300,000 by the statistics)".
  std::string ToString() const;
};

// Rows of transactions before `streamed_from` (an xid8); 0: all rows. Takes a
// few seconds at most: a table that is locked or too large for that is
// reported as not known. An error is one of the connection.
boost::asio::awaitable<absl::StatusOr<ExistingRows>> CountExistingRows(
    Connection& connection, std::string table, uint64_t streamed_from);

// Rows of one partition that were written before the command `cmin` of the
// transaction `xmin`, which attached it. Likewise.
boost::asio::awaitable<absl::StatusOr<ExistingRows>> CountRowsBeforeAttachment(
    Connection& connection, std::string partition, std::string xmin,
    std::string cmin);

}  // namespace walpost
