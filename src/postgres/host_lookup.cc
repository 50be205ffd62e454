#include "postgres/host_lookup.h"

#include <arpa/inet.h>
#include <libpq-fe.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string_view>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "loop/blocking_call.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

constexpr char kDefaultPort[] = "5432";
// libpq tries each one; further addresses are dropped.
constexpr size_t kMaxAddressesPerHost = 16;

constexpr std::string_view kSilentNameServers =
    "the name servers do not answer; see /etc/resolv.conf";

using Options = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

void AddValues(const Options& options, std::map<std::string, std::string>& to) {
  if (options == nullptr) return;
  for (const PQconninfoOption* o = options.get(); o->keyword; ++o) {
    if (o->val != nullptr && *o->val != '\0')
      to.try_emplace(o->keyword, o->val);
  }
}

bool IsSocket(std::string_view host) {
  return host.empty() || host.front() == '/' || host.front() == '@';
}

bool IsAddress(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes;
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

struct Answer {
  std::vector<std::string> addresses;
  std::string error;
};

Answer LookUp(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (error != 0) return {{}, gai_strerror(error)};
  Answer answer;
  for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
    if (answer.addresses.size() == kMaxAddressesPerHost) break;
    std::array<char, NI_MAXHOST> text;
    if (getnameinfo(a->ai_addr, a->ai_addrlen, text.data(), text.size(),
                    nullptr, 0, NI_NUMERICHOST) == 0) {
      answer.addresses.emplace_back(text.data());
    }
  }
  freeaddrinfo(list);
  return answer;
}

}  // namespace

absl::StatusOr<std::vector<ServerHost>> HostsToLookUp(
    const std::string& conninfo) {
  const Options own(PQconninfoParse(conninfo.c_str(), nullptr), PQconninfoFree);
  if (own == nullptr) {
    return absl::InvalidArgumentError("postgres.conninfo does not parse");
  }
  std::map<std::string, std::string> values;
  AddValues(own, values);
  if (values.contains("service")) return std::vector<ServerHost>();
  AddValues(Options(PQconndefaults(), PQconninfoFree), values);
  if (values.contains("hostaddr") || !values.contains("host")) {
    return std::vector<ServerHost>();
  }
  const std::vector<std::string> names = absl::StrSplit(values["host"], ',');
  std::vector<std::string> ports = absl::StrSplit(values["port"], ',');
  if (ports.size() == 1) ports.resize(names.size(), ports.front());
  // libpq reports errors in the lists.
  if (ports.size() != names.size()) return std::vector<ServerHost>();
  std::vector<ServerHost> hosts;
  for (size_t i = 0; i < names.size(); ++i) {
    hosts.push_back({names[i], ports[i].empty() ? kDefaultPort : ports[i]});
  }
  const bool none = std::ranges::all_of(names, [](const std::string& name) {
    return IsSocket(name) || IsAddress(name);
  });
  if (none) hosts.clear();
  return hosts;
}

HostAddresses ToHostAddresses(
    std::span<const ServerHost> hosts,
    std::span<const std::vector<std::string>> addresses) {
  std::vector<std::string> names;
  std::vector<std::string> numbers;
  std::vector<std::string> ports;
  for (size_t i = 0; i < hosts.size(); ++i) {
    for (const std::string& address : addresses[i]) {
      names.push_back(hosts[i].name);
      numbers.push_back(address);
      ports.push_back(hosts[i].port);
    }
  }
  return {absl::StrJoin(names, ","), absl::StrJoin(numbers, ","),
          absl::StrJoin(ports, ",")};
}

asio::awaitable<absl::StatusOr<HostAddresses>> LookUpHosts(
    asio::any_io_executor executor, std::vector<ServerHost> hosts,
    MonotonicTime deadline) {
  using Call = BlockingCall<Answer>;
  std::vector<std::unique_ptr<Call>> calls(hosts.size());
  std::vector<std::vector<std::string>> addresses(hosts.size());
  std::vector<std::string> errors;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const std::string& name = hosts[i].name;
    if (IsSocket(name) || IsAddress(name)) {
      addresses[i].push_back(IsSocket(name) ? "" : name);
      continue;
    }
    absl::StatusOr<std::unique_ptr<Call>> call =
        Call::Start(executor, [name] { return LookUp(name); });
    if (!call.ok()) co_return call.status();
    calls[i] = *std::move(call);
  }
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (calls[i] == nullptr) continue;
    Call& call = *calls[i];
    std::optional<Answer> answer = co_await call.Wait(deadline);
    if (!answer) answer.emplace().error = std::string(kSilentNameServers);
    if (!answer->error.empty()) {
      errors.push_back(
          fmt::format("could not translate host name \"{}\" to address: {}",
                      hosts[i].name, answer->error));
    }
    addresses[i] = std::move(answer->addresses);
  }
  HostAddresses found = ToHostAddresses(hosts, addresses);
  if (found.host.empty() && found.hostaddr.empty()) {
    co_return absl::UnavailableError(
        fmt::format("connecting to Postgres: {}", absl::StrJoin(errors, "; ")));
  }
  co_return found;
}

}  // namespace walpost
