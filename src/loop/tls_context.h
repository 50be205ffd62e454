// The settings of Asio for a TLS connection.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "loop/tls_options.h"

namespace walpost {

// Reads the files that the options name, each time. The server is always
// verified; TLS 1.2 is the oldest. `section`: of the sink, as in "redis".
// kFailedPrecondition: names the key whose file cannot be used.
absl::StatusOr<std::unique_ptr<boost::asio::ssl::context>> MakeTlsContext(
    const TlsOptions& options, std::string_view section);

}  // namespace walpost
