// Identifies the server on a short connection of its own, before the stream is
// opened.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "checkpoint/source_identity.h"
#include "postgres/connect/server_options.h"

namespace walpost {

// Errors come from Connection::Connect and Execute.
boost::asio::awaitable<absl::StatusOr<SourceIdentity>> IdentifySource(
    boost::asio::any_io_executor executor, ServerOptions server,
    std::string publication, std::string slot);

}  // namespace walpost
