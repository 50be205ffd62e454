// Parses http.listen.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string_view>

#include "absl/status/statusor.h"

namespace walpost {

// "127.0.0.1:9187", "0.0.0.0:9187", "[::1]:9187", "localhost:9187". No other
// host names: a start that waits for DNS is one more thing that can hang.
// kInvalidArgument shows the text and the expected form.
absl::StatusOr<boost::asio::ip::tcp::endpoint> ParseListenAddress(
    std::string_view text);

}  // namespace walpost
