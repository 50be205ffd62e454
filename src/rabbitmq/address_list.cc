#include "rabbitmq/address_list.h"

#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost::rabbitmq {
namespace {

constexpr uint16_t kPort = 5672;
constexpr uint16_t kTlsPort = 5671;

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

absl::StatusOr<ServerPlace> ParseOne(std::string_view text,
                                     uint16_t default_port) {
  const std::optional<ServerPlace> place =
      ServerPlace::Parse(text, default_port);
  if (place) return *place;
  // It may hold a password.
  if (text.find('@') != std::string_view::npos) {
    return absl::InvalidArgumentError(
        "rabbitmq.nodes: HOST or HOST:PORT is expected, without a user: write "
        "it in rabbitmq.user and rabbitmq.password");
  }
  return absl::InvalidArgumentError(
      fmt::format("rabbitmq.nodes: \"{}\" is not HOST or HOST:PORT", text));
}

}  // namespace

absl::StatusOr<std::vector<ServerPlace>> ParseRabbitmqAddresses(
    std::string_view text, bool with_tls) {
  std::vector<ServerPlace> addresses;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = Trim(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size()
                                                       : comma + 1);
    WALPOST_ASSIGN_OR_RETURN(ServerPlace address,
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
