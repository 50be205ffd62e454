// The findings of `walpost check` about the table of parked events and dead
// letters.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"

namespace walpost {

// Checks whether a stream may use `table` (schema.table), as ParkingTable::Open
// does. `is_wanted`: the configuration parks events, or keeps dead letters
// there. Fails as Execute does.
boost::asio::awaitable<absl::StatusOr<Findings>> CheckParking(
    Connection& connection, const WalSourceOptions& postgres, std::string table,
    bool is_wanted);

}  // namespace walpost
