// What the creation of a logical slot waits for.
//
// CREATE_REPLICATION_SLOT needs a moment without the transactions that were
// running before it, and waits for each of them to end. Until then the slot is
// in pg_replication_slots, active and without confirmed_flush_lsn.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "postgres/connection.h"

namespace walpost {

// For people: who creates the slot, or one from which a walpost of that slot
// takes its initial snapshot; which transactions that waits for, and the SQL
// that ends them. Empty: none is being created.
boost::asio::awaitable<absl::StatusOr<std::string>> DescribeSlotCreation(
    Connection& connection, std::string slot);

}  // namespace walpost
