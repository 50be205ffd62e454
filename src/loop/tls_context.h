// The settings of Asio for a TLS connection.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "loop/tls_options.h"

namespace walpost {

// Reads the files that the options name, each time. The server is always
// verified; TLS 1.2 is the oldest. `section`: of the sink, as in "redis".
// kFailedPrecondition: names the key whose file cannot be used.
absl::StatusOr<std::unique_ptr<boost::asio::ssl::context>> MakeTlsContext(
    const TlsOptions& options, std::string_view section);

// Tells the server which name is meant, and expects it in its certificate,
// unless the options say otherwise. Call it before the handshake.
template <typename TlsStream>
void NameServer(const std::string& host, const TlsOptions& options,
                TlsStream& stream) {
  boost::system::error_code is_name;
  boost::asio::ip::make_address(host, is_name);
  // RFC 6066, section 3: an address is not a name.
  if (is_name) SSL_set_tlsext_host_name(stream.native_handle(), host.c_str());
  if (!options.verify_host) return;
  stream.set_verify_callback(boost::asio::ssl::host_name_verification(host));
}

}  // namespace walpost
