// Looks up host names beside the event loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"

namespace walpost {

// Each one is tried; further addresses are dropped.
inline constexpr size_t kMaxAddressesPerHost = 16;

struct HostAddresses {
  std::vector<std::string> addresses;  // as numbers
  std::string error;                   // of the resolver; or empty
};

// Blocks for as long as the name servers do: for a BlockingCall.
HostAddresses LookUpHost(const std::string& host);

// The addresses of a name, or the address that `host` is. kUnavailable: there
// is none, or the name servers do not answer until `deadline`; says which.
boost::asio::awaitable<absl::StatusOr<std::vector<boost::asio::ip::address>>>
FindAddresses(boost::asio::any_io_executor executor, std::string host,
              MonotonicTime deadline);

}  // namespace walpost
