#include "postgres/connect/host_lookup.h"

#include <arpa/inet.h>

#include <array>
#include <memory>
#include <string_view>

#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "loop/address_lookup.h"
#include "loop/blocking_call.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

constexpr std::string_view kSilentNameServers =
    "the name servers do not answer; see /etc/resolv.conf";

bool IsSocket(std::string_view host) {
  return host.empty() || host.front() == '/' || host.front() == '@';
}

bool IsAddress(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes;
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

bool NeedsLookUp(const ServerAddress& place) {
  return place.hostaddr.empty() && !IsSocket(place.host) &&
         !IsAddress(place.host);
}

}  // namespace

std::vector<ServerAddress> WithAddresses(
    std::span<const ServerAddress> hosts,
    std::span<const std::vector<std::string>> addresses) {
  std::vector<ServerAddress> places;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (!NeedsLookUp(hosts[i])) places.push_back(hosts[i]);
    for (const std::string& address : addresses[i]) {
      places.push_back({hosts[i].host, address, hosts[i].port});
    }
  }
  return places;
}

asio::awaitable<absl::StatusOr<std::vector<ServerAddress>>> LookUpHosts(
    asio::any_io_executor executor, std::vector<ServerAddress> hosts,
    MonotonicTime deadline) {
  using Call = BlockingCall<HostAddresses>;
  std::vector<std::unique_ptr<Call>> calls(hosts.size());
  std::vector<std::vector<std::string>> addresses(hosts.size());
  std::vector<std::string> errors;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const std::string& name = hosts[i].host;
    if (!NeedsLookUp(hosts[i])) continue;
    absl::StatusOr<std::unique_ptr<Call>> call =
        Call::Start(executor, [name] { return LookUpHost(name); });
    if (!call.ok()) co_return call.status();
    calls[i] = *std::move(call);
  }
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (calls[i] == nullptr) continue;
    Call& call = *calls[i];
    std::optional<HostAddresses> answer = co_await call.Wait(deadline);
    if (!answer) answer.emplace().error = std::string(kSilentNameServers);
    if (!answer->error.empty()) {
      errors.push_back(
          fmt::format("could not translate host name \"{}\" to address: {}",
                      hosts[i].host, answer->error));
    }
    addresses[i] = std::move(answer->addresses);
  }
  std::vector<ServerAddress> places = WithAddresses(hosts, addresses);
  if (places.empty()) {
    co_return absl::UnavailableError(
        fmt::format("connecting to Postgres: {}", absl::StrJoin(errors, "; ")));
  }
  co_return places;
}

}  // namespace walpost
