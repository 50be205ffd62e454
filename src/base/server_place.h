// ServerPlace: host and port of a server, as configurations spell them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace walpost {

struct ServerPlace {
  std::string host;
  uint16_t port = 0;

  // "host", "host:port", "::1", "[::1]:port"; nullopt: it is nothing of these.
  static std::optional<ServerPlace> Parse(std::string_view text,
                                          uint16_t default_port);
  std::string ToString() const;

  friend bool operator==(const ServerPlace&, const ServerPlace&) = default;
};

}  // namespace walpost
