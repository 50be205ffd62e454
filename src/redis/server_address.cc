#include "redis/server_address.h"

#include <charconv>

#include "fmt/format.h"

namespace walpost {

absl::StatusOr<ServerPlace> ServerPlace::Parse(std::string_view text,
                                               uint16_t default_port,
                                               std::string_view key) {
  const auto wrong = [&] {
    return absl::InvalidArgumentError(
        fmt::format("{}: '{}' is not host:port, as in 127.0.0.1:{}", key, text,
                    default_port));
  };
  ServerPlace place{std::string(text), default_port};
  const size_t colon = text.rfind(':');
  const size_t bracket = text.find(']');
  const bool is_bare_ipv6 = text.find(':') != colon && text.front() != '[';
  const bool has_port = colon != std::string_view::npos && !is_bare_ipv6 &&
                        (bracket == std::string_view::npos || colon > bracket);
  if (has_port) {
    const std::string_view port = text.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(port.data(), port.data() + port.size(), place.port);
    if (error != std::errc() || end != port.data() + port.size() ||
        place.port == 0) {
      return wrong();
    }
    place.host = text.substr(0, colon);
  }
  if (place.host.starts_with('[') && place.host.ends_with(']')) {
    place.host = place.host.substr(1, place.host.size() - 2);
  }
  const bool is_host = !place.host.empty() &&
                       place.host.find_first_of(" /,[]") == std::string::npos;
  if (!is_host) return wrong();
  return place;
}

std::string ServerPlace::ToString() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", host, port)
                 : fmt::format("{}:{}", host, port);
}

}  // namespace walpost
