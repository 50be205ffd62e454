// Describes what a session of the server waits for, for an operator.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "postgres/connect/connection.h"

namespace walpost {

// The transactions that block session `pid`, with the SQL that ends each of
// them. Empty: none.
boost::asio::awaitable<absl::StatusOr<std::string>> DescribeBlockers(
    Connection& connection, std::string pid);

// "it waits for a lock that pid 4711, role alice, active has, to be ended with
// ...", or for a synchronous standby. Empty: for nothing that is known.
boost::asio::awaitable<absl::StatusOr<std::string>> DescribeWait(
    Connection& connection, int pid);

}  // namespace walpost
