// The names of the tables of a database, for "did you mean".
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"

namespace walpost {

// The table that was probably meant by the name of one that does not exist
// (outbox/similar_table.h): not one that is listed in `outbox`, nor a
// partition. Empty: none. `outbox` outlives the coroutine.
boost::asio::awaitable<absl::StatusOr<std::string>> FindSimilarTable(
    Connection& connection, const OutboxOptions& outbox, std::string table);

}  // namespace walpost
