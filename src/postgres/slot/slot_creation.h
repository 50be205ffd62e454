// Finds out what the creation of a logical slot waits for.
//
// CREATE_REPLICATION_SLOT needs a moment without the transactions that were
// running before it, and waits for each of them to end. Until then the slot is
// in pg_replication_slots, active and without confirmed_flush_lsn.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "postgres/connect/connection.h"

namespace walpost {

// Text for people: who creates the slot (or the one from which a walpost of
// that slot takes its initial snapshot), which transactions it waits for, and
// the SQL that terminates them. Empty: no slot is being created.
boost::asio::awaitable<absl::StatusOr<std::string>> DescribeSlotCreation(
    Connection& connection, std::string slot);

}  // namespace walpost
