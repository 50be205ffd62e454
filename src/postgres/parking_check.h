// What `walpost check` says about the table of parked events.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "postgres/connection.h"

namespace walpost {

// Whether the role may use the table `name` (schema.table), or make it. Fails
// as Execute does.
boost::asio::awaitable<absl::StatusOr<Findings>> CheckParkingTable(
    Connection& connection, std::string name);

}  // namespace walpost
