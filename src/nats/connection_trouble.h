// ConnectionTrouble: why there is no connection to NATS, and what to check.
//
// Pure.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

struct ConnectionTrouble {
  std::string advice;  // empty: none
  // True if the cause is a password, a token or a certificate.
  bool is_of_credentials = false;
};

// `text`: what libnats or the server says. `servers`: nats.servers.
ConnectionTrouble ConnectionTroubleOf(std::string_view text,
                                      std::string_view servers);

// The subject of "Permissions Violation for Publish to "SUBJECT""; empty: it is
// another message.
std::string DeniedSubject(std::string_view text);

}  // namespace walpost
