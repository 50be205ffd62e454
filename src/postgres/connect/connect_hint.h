// The remedy for a connection that could not be made, if the server's SQLSTATE
// says too little or libpq itself rejected it.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

// `message` is libpq's, in English, as libpq and OpenSSL write it without a
// locale. Empty: the cause is not known. `host` and `port` are used in a
// command that shows the server's certificate.
std::string ConnectHint(std::string_view message, std::string_view host,
                        std::string_view port);

}  // namespace walpost
