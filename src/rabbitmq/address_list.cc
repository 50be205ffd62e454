#include "rabbitmq/address_list.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost::rabbitmq {
namespace {

constexpr uint16_t kPort = 5672;
constexpr uint16_t kTlsPort = 5671;
constexpr uint32_t kMaxPort = 65'535;

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

absl::StatusOr<RabbitmqAddress> ParseOne(std::string_view text,
                                         uint16_t default_port) {
  // It may hold a password.
  if (text.find('@') != std::string_view::npos) {
    return absl::InvalidArgumentError(
        "rabbitmq.nodes: HOST or HOST:PORT is expected, without a user: write "
        "it in rabbitmq.user and rabbitmq.password");
  }
  const auto malformed = [text] {
    return absl::InvalidArgumentError(
        fmt::format("rabbitmq.nodes: \"{}\" is not HOST or HOST:PORT", text));
  };
  RabbitmqAddress address{.host = "", .port = default_port};
  std::string_view rest = text;
  if (rest.starts_with('[')) {
    const size_t end = rest.find(']');
    if (end == std::string_view::npos) return malformed();
    address.host = std::string(rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
  } else {
    const size_t colon = rest.find(':');
    address.host = std::string(rest.substr(0, colon));
    rest.remove_prefix(address.host.size());
  }
  const bool has_slash = address.host.find('/') != std::string::npos;
  if (address.host.empty() || has_slash) return malformed();
  if (rest.empty()) return address;
  uint32_t port = 0;
  const bool is_number =
      rest[0] == ':' && absl::SimpleAtoi(std::string(rest.substr(1)), &port);
  if (!is_number || port == 0 || port > kMaxPort) return malformed();
  address.port = static_cast<uint16_t>(port);
  return address;
}

}  // namespace

std::string RabbitmqAddress::ToString() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", host, port)
                 : fmt::format("{}:{}", host, port);
}

absl::StatusOr<std::vector<RabbitmqAddress>> ParseRabbitmqAddresses(
    std::string_view text, bool with_tls) {
  std::vector<RabbitmqAddress> addresses;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = Trim(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size()
                                                       : comma + 1);
    WALPOST_ASSIGN_OR_RETURN(RabbitmqAddress address,
                             ParseOne(part, with_tls ? kTlsPort : kPort));
    addresses.push_back(std::move(address));
  }
  if (addresses.empty()) {
    return absl::InvalidArgumentError(
        "rabbitmq.nodes is missing: how to reach RabbitMQ, as in "
        "127.0.0.1:5672");
  }
  return addresses;
}

}  // namespace walpost::rabbitmq
