// What to do about a connection that could not be made, where the SQLSTATE of
// the server says too little, or where it was libpq that refused.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

// `message` is libpq's, in English, as libpq and OpenSSL write it without a
// locale. Empty: it is of no known cause. `host` and `port` go into a command
// that shows the certificate of the server.
std::string ConnectHint(std::string_view message, std::string_view host,
                        std::string_view port);

}  // namespace walpost
