#include "base/server_place.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>

#include "fmt/format.h"

namespace walpost {
namespace {

bool IsIpv6(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes;
  // A zone, as in fe80::1%eth0, is not a part of the address.
  const std::string address = host.substr(0, host.find('%'));
  return inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1;
}

}  // namespace

std::optional<ServerPlace> ServerPlace::Parse(std::string_view text,
                                              uint16_t default_port) {
  ServerPlace place{std::string(text), default_port};
  if (IsIpv6(place.host)) return place;
  std::string_view rest = text;
  const bool has_brackets = text.starts_with('[');
  if (has_brackets) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    place.host = text.substr(1, close - 1);
    if (!IsIpv6(place.host)) return std::nullopt;
    rest.remove_prefix(close + 1);
  } else {
    place.host = text.substr(0, text.find(':'));
    rest.remove_prefix(place.host.size());
    if (place.host.empty() ||
        place.host.find_first_of(" /,[]@") != std::string::npos) {
      return std::nullopt;
    }
  }
  if (rest.empty()) return place;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(rest.data() + 1, end, place.port);
  if (rest.front() != ':' || error != std::errc() || read != end ||
      place.port == 0) {
    return std::nullopt;
  }
  return place;
}

std::string ServerPlace::ToString() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", host, port)
                 : fmt::format("{}:{}", host, port);
}

}  // namespace walpost
