// walpost parked accept: goes on with the table of parked events as it is now,
// after the one that the slot has used has gone missing.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "config/config.h"

namespace walpost {

// Makes an empty table if there is none and the configuration needs one, and
// puts on record that the slot uses it. Prints what it has done; the result is
// an exit code. kFailedPrecondition: nothing is wrong with the table, or the
// role may not do that; has the SQL for the owner.
boost::asio::awaitable<absl::StatusOr<int>> AcceptParkedTable(
    boost::asio::any_io_executor executor, const Config& config, std::string by,
    std::string why);

}  // namespace walpost
