// The TLS settings of a connection to Redis.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "absl/status/statusor.h"
#include "redis/options.h"

namespace walpost {

// Reads the files that the options name, each time. The server is always
// verified. kFailedPrecondition: names the key whose file cannot be used.
absl::StatusOr<std::unique_ptr<boost::asio::ssl::context>> MakeTlsContext(
    const RedisOptions& options);

}  // namespace walpost
