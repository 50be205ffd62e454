// What `walpost check` says about the table of parked events and dead letters.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "postgres/connection.h"
#include "postgres/parking_table.h"

namespace walpost {

// Whether the role may use the table `name` (schema.table), or make it; and, if
// dead letters are kept, whether it has their columns, or gets them. Fails as
// Execute does.
boost::asio::awaitable<absl::StatusOr<Findings>> CheckParkingTable(
    Connection& connection, std::string name, ParkingTable::Letters letters);

}  // namespace walpost
