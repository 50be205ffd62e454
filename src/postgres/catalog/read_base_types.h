// Reads the BaseTypes of a database.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "absl/status/statusor.h"
#include "outbox/base_types.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"

namespace walpost {

// All domains and string types of the database, and the types of all columns of
// the tables; with records.profile: debezium also what else is known of these
// columns. `outbox` outlives the coroutine.
boost::asio::awaitable<absl::StatusOr<BaseTypes>> ReadBaseTypes(
    Connection& connection, const OutboxOptions& outbox);

}  // namespace walpost
