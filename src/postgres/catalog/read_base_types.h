// Reads the BaseTypes of a database.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/base_types.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"

namespace walpost {

// All domains and string types of the database, and the types of all columns of
// the tables. `tables` outlives the coroutine.
boost::asio::awaitable<absl::StatusOr<BaseTypes>> ReadBaseTypes(
    Connection& connection, const std::vector<TableOptions>& tables);

}  // namespace walpost
