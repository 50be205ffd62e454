// Looks up the host names of a conninfo beside the event loop: libpq would
// block it while the name servers do not answer.
//
// libpq takes lists of hosts, addresses and ports, and tries them in turn:
//
//   host=db1,db2 port=5432      from the conninfo
//   host=db1,db1,db2            a host as often as it has addresses, for
//   hostaddr=::1,127.0.0.1,10.0.0.2        certificates and password files
//   port=5432,5432,5432
//
// libpq still looks up names that only a service file gives.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"

namespace walpost {

struct ServerHost {
  std::string name;
  std::string port;
};

// The hosts to look up; none if libpq needs no look-up, because it has only
// addresses, sockets or a service. Uses libpq's environment variables.
// kInvalidArgument: the conninfo does not parse.
absl::StatusOr<std::vector<ServerHost>> HostsToLookUp(
    const std::string& conninfo);

// Values that override those of the conninfo.
struct HostAddresses {
  std::string host;
  std::string hostaddr;
  std::string port;
};

// `addresses[i]` belong to `hosts[i]`. A host without addresses is left out; an
// address or a socket among the names stands for itself.
HostAddresses ToHostAddresses(
    std::span<const ServerHost> hosts,
    std::span<const std::vector<std::string>> addresses);

// Looks up all `hosts` at once. kUnavailable: none has an address; says why.
boost::asio::awaitable<absl::StatusOr<HostAddresses>> LookUpHosts(
    boost::asio::any_io_executor executor, std::vector<ServerHost> hosts,
    MonotonicTime deadline);

}  // namespace walpost
