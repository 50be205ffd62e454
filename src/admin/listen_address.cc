#include "admin/listen_address.h"

#include <charconv>
#include <optional>
#include <string>

#include "fmt/format.h"

namespace walpost {
namespace {

namespace ip = boost::asio::ip;

std::optional<ip::address> ParseHost(std::string_view host) {
  if (host == "localhost") return ip::address_v4::loopback();
  boost::system::error_code error;
  ip::address address;
  if (host.starts_with('[') && host.ends_with(']')) {
    const std::string inner(host.substr(1, host.size() - 2));
    address = ip::make_address_v6(inner, error);
  } else {
    address = ip::make_address_v4(std::string(host), error);
  }
  if (error) return std::nullopt;
  return address;
}

std::optional<uint16_t> ParsePort(std::string_view digits) {
  uint16_t port = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, port);
  if (error != std::errc() || rest != end) return std::nullopt;
  return port;
}

}  // namespace

absl::StatusOr<ip::tcp::endpoint> ParseListenAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    const auto address = ParseHost(text.substr(0, colon));
    const auto port = ParsePort(text.substr(colon + 1));
    if (address && port) return ip::tcp::endpoint(*address, *port);
  }
  return absl::InvalidArgumentError(
      fmt::format("http.listen: '{}' is not an address and a port; write it "
                  "as 127.0.0.1:9187, 0.0.0.0:9187 or [::1]:9187",
                  text));
}

}  // namespace walpost
