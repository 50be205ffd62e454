#include "config/broker_list.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>

#include "fmt/format.h"

namespace walpost {
namespace {

constexpr std::string_view kExample =
    "write host:port, as in 127.0.0.1:9092 or kafka-1:9092,kafka-2:9092";
constexpr std::array<std::string_view, 4> kProtocols = {
    "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"};
constexpr std::string_view kSpaces = " \t\r\n";
constexpr int kMaxPort = 65'535;

bool IsProtocol(std::string_view word) {
  std::string upper(word);
  for (char& letter : upper) {
    letter =
        static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return std::ranges::find(kProtocols, upper) != kProtocols.end();
}

std::string_view WithoutSpaces(std::string_view text) {
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

// Error in the port, or empty. Without a port librdkafka uses 9092.
std::string PortTrouble(std::string_view host_and_port) {
  const size_t bracket = host_and_port.find(']');
  const size_t begin = bracket == std::string_view::npos ? 0 : bracket;
  const size_t colon = host_and_port.find(':', begin);
  if (colon == std::string_view::npos) return "";
  const std::string_view port = host_and_port.substr(colon + 1);
  if (port.find(':') != std::string_view::npos) {
    return "it has more than one port; an IPv6 address stands in brackets";
  }
  int number = 0;
  const char* const end = port.data() + port.size();
  const auto [rest, error] = std::from_chars(port.data(), end, number);
  if (error == std::errc() && rest == end && number >= 1 &&
      number <= kMaxPort) {
    return "";
  }
  return fmt::format("port '{}' is not a number from 1 to {}", port, kMaxPort);
}

// True unless brackets, if there are any, stand around an IPv6 address in
// front.
bool HasStrayBracket(std::string_view broker) {
  if (broker.find_first_of("[]") == std::string_view::npos) return false;
  const size_t close = broker.find(']');
  if (broker.front() != '[' || close == std::string_view::npos) return true;
  const std::string_view address = broker.substr(1, close - 1);
  const std::string_view rest = broker.substr(close + 1);
  return address.find('[') != std::string_view::npos ||
         address.find(':') == std::string_view::npos ||
         rest.find_first_of("[]") != std::string_view::npos ||
         (!rest.empty() && rest.front() != ':');
}

// Error in one broker, or empty.
std::string Trouble(std::string_view broker) {
  const size_t scheme = broker.find("://");
  if (scheme != std::string_view::npos) {
    const std::string_view protocol = broker.substr(0, scheme);
    if (!IsProtocol(protocol)) {
      return fmt::format("'{}' is not a security protocol of Kafka", protocol);
    }
    broker.remove_prefix(scheme + 3);
  }
  if (broker.empty() || broker.front() == ':') return "the host is missing";
  if (broker.find_first_of(" \t\n/;") != std::string_view::npos) {
    return "a host has no spaces, slashes or semicolons; commas separate "
           "brokers";
  }
  if (HasStrayBracket(broker)) {
    return "brackets stand around an IPv6 address, as in [::1]:9092; a list of "
           "brokers is not in quotes";
  }
  return PortTrouble(broker);
}

}  // namespace

absl::Status CheckBrokerList(std::string_view brokers) {
  if (brokers.empty()) return absl::OkStatus();  // as if it were not set
  if (brokers.find('@') != std::string_view::npos) {
    // What is before it may be a password.
    return absl::InvalidArgumentError(fmt::format(
        "a broker has no user and no password (the value is not shown): set "
        "sasl.username and sasl.password in kafka.properties; {}",
        kExample));
  }
  bool has_broker = false;
  std::string_view left = brokers;
  while (!left.empty()) {
    const size_t length = std::min(left.find(','), left.size());
    const std::string_view part = WithoutSpaces(left.substr(0, length));
    left.remove_prefix(std::min(length + 1, left.size()));
    if (part.empty()) continue;
    has_broker = true;
    const std::string trouble = Trouble(part);
    if (trouble.empty()) continue;
    return absl::InvalidArgumentError(
        fmt::format("'{}': {}; {}", part, trouble, kExample));
  }
  if (has_broker) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("'{}' names no broker; {}", brokers, kExample));
}

}  // namespace walpost
