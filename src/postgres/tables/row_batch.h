// RowBatch: the first few MiB of a statement's rows.
//
// A statement whose rows are larger than expected may return any amount of
// them. They are read one at a time. Of the rows after the first few MiB only
// the ids are kept, for the caller that holds these rows and must release them.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/query_rows.h"

namespace walpost {

struct RowBatch {
  std::vector<QueryRows> rows;        // one row each
  size_t bytes = 0;                   // of these
  std::vector<std::string> left_out;  // ids of the rows behind them

  bool empty() const { return rows.empty(); }
};

// The rows of `sql`, which selects the columns of a table and nothing else: as
// many as it takes to reach FetchSizer::kBytes, at least one. `id`: index of
// the column of ids.
//
// Errors as of Connection::Execute.
boost::asio::awaitable<absl::StatusOr<RowBatch>> ReadRowBatch(
    Connection& connection, std::string sql, size_t id);

}  // namespace walpost
