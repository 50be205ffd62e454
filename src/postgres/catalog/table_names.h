// The names of the tables of a database, for "did you mean".
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"

namespace walpost {

// Tables that may have been meant by a name that does not exist
// (outbox/similar_table.h), without tables that `outbox` lists and partitions.
// `outbox` outlives the coroutine.
boost::asio::awaitable<absl::StatusOr<std::vector<std::string>>> ReadTableNames(
    Connection& connection, const OutboxOptions& outbox);

}  // namespace walpost
