// Looks up the host names of a conninfo beside the event loop: libpq would
// block it while the name servers do not answer.
//
//   host=db1,db2                        db1 has two addresses:
//   -> db1 at ::1, db1 at 127.0.0.1, db2 at 10.0.0.2
//
// The name stays, for certificates and password files.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "postgres/connect/connect_attempts.h"

namespace walpost {

// `addresses[i]` belong to `hosts[i]`; a host that was looked up has as many
// places as addresses.
std::vector<ServerAddress> WithAddresses(
    std::span<const ServerAddress> hosts,
    std::span<const std::vector<std::string>> addresses);

// Looks up all names among `hosts` at once. kUnavailable: none of the hosts has
// an address; says why.
boost::asio::awaitable<absl::StatusOr<std::vector<ServerAddress>>> LookUpHosts(
    boost::asio::any_io_executor executor, std::vector<ServerAddress> hosts,
    MonotonicTime deadline);

}  // namespace walpost
