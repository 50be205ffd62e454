#include "postgres/connect/connect_attempts.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/sqlstate.h"

namespace walpost {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr char kDefaultPort[] = "5432";
// More than anybody waits for; keeps the arithmetic of times within its range.
constexpr seconds kMaxConnectLimit{3600};
constexpr size_t kMaxRemembered = 64;

using Keywords = std::map<std::string, std::string>;

std::string ValueOf(const Keywords& keywords, const std::string& name) {
  const auto found = keywords.find(name);
  return found == keywords.end() ? "" : found->second;
}

std::vector<std::string> ListOf(const Keywords& keywords,
                                const std::string& name) {
  const std::string text = ValueOf(keywords, name);
  if (text.empty()) return {};
  return absl::StrSplit(text, ',');
}

milliseconds LimitOf(const Keywords& keywords) {
  const std::string text = ValueOf(keywords, "connect_timeout");
  const long given = std::strtol(text.c_str(), nullptr, 10);
  if (given <= 0) return kDefaultConnectLimit;
  return std::min(seconds(given), kMaxConnectLimit);
}

// Empty: the lists do not fit each other.
std::vector<ServerAddress> HostsOf(const Keywords& keywords,
                                   const std::string& socket_folder) {
  std::vector<std::string> names = ListOf(keywords, "host");
  std::vector<std::string> numbers = ListOf(keywords, "hostaddr");
  std::vector<std::string> ports = ListOf(keywords, "port");
  const size_t count = numbers.empty() ? names.size() : numbers.size();
  if (names.empty()) names.resize(count);
  if (numbers.empty()) numbers.resize(count);
  if (ports.empty()) ports.emplace_back();
  if (ports.size() == 1) ports.resize(count, ports.front());
  if (names.size() != count || ports.size() != count) return {};
  std::vector<ServerAddress> hosts;
  for (size_t i = 0; i < count; ++i) {
    std::string& name = names[i];
    if (name.empty()) name = numbers[i].empty() ? socket_folder : numbers[i];
    hosts.push_back({name, numbers[i], ports[i]});
    if (ports[i].empty()) hosts.back().port = kDefaultPort;
  }
  return hosts;
}

}  // namespace

ConnectPlaces ReadPlaces(const Keywords& keywords,
                         const std::string& socket_folder) {
  ConnectPlaces places;
  places.hosts = HostsOf(keywords, socket_folder);
  if (places.hosts.empty()) places.hosts.emplace_back();
  places.target_session_attrs = ValueOf(keywords, "target_session_attrs");
  places.limit = LimitOf(keywords);
  places.in_random_order = ValueOf(keywords, "load_balance_hosts") == "random";
  return places;
}

void SilentAddresses::OnSilence(const ServerAddress& address,
                                MonotonicTime now) {
  OnAnswer(address);
  std::erase_if(silent_, [&](const auto& known) {
    return now - known.second > kRemembered;
  });
  if (silent_.size() < kMaxRemembered) silent_.emplace_back(address, now);
}

void SilentAddresses::OnAnswer(const ServerAddress& address) {
  std::erase_if(silent_,
                [&](const auto& known) { return known.first == address; });
}

bool SilentAddresses::IsSilent(const ServerAddress& address,
                               MonotonicTime now) const {
  return std::ranges::any_of(silent_, [&](const auto& known) {
    return known.first == address && now - known.second <= kRemembered;
  });
}

std::vector<ServerAddress> SilentAddresses::Order(
    std::vector<ServerAddress> addresses, MonotonicTime now) const {
  std::stable_partition(
      addresses.begin(), addresses.end(),
      [&](const auto& address) { return !IsSilent(address, now); });
  return addresses;
}

ConnectAttempts::ConnectAttempts(std::vector<ServerAddress> addresses,
                                 const ConnectPlaces& places,
                                 std::optional<MonotonicTime> by)
    : limit_(places.limit), by_(by) {
  // libpq looks for a standby among all hosts before it takes another one.
  std::vector<std::string> passes = {""};
  if (places.target_session_attrs == "prefer-standby") {
    passes = {"standby", "any"};
  }
  for (const std::string& pass : passes) {
    for (const ServerAddress& address : addresses) {
      order_.push_back({address, pass});
    }
  }
}

std::optional<ConnectAttempts::Attempt> ConnectAttempts::Next(
    MonotonicTime now) {
  if (!has_next()) return std::nullopt;
  const auto left = static_cast<int>(order_.size() - next_);
  const Planned& planned = order_[next_++];
  milliseconds limit = limit_;
  if (by_) {
    const auto share =
        std::chrono::duration_cast<milliseconds>((*by_ - now) / left);
    limit = std::clamp(share, milliseconds(0), limit_);
  }
  return Attempt{planned.address, planned.target_session_attrs, limit,
                 now + limit};
}

void ConnectAttempts::Note(const absl::Status& status) {
  last_ = status;
  std::string text(status.message());
  const std::string sqlstate = SqlstateOf(status);
  if (!sqlstate.empty()) sqlstate_ = sqlstate;
  if (std::ranges::find(texts_, text) == texts_.end()) {
    texts_.push_back(std::move(text));
  }
}

bool ConnectAttempts::GoesOnAfter(const absl::Status& status) {
  Note(status);
  const std::string sqlstate = SqlstateOf(status);
  if (!sqlstate.empty()) return sqlstate == kSqlstateCannotConnectNow;
  return absl::IsUnavailable(status);
}

void ConnectAttempts::OnSilence(const absl::Status& status) {
  Note(status);
  const ServerAddress silent = order_[next_ - 1].address;
  const auto is_silent = [&](const Planned& planned) {
    return planned.address == silent;
  };
  order_.erase(std::remove_if(order_.begin() + static_cast<ptrdiff_t>(next_),
                              order_.end(), is_silent),
               order_.end());
}

absl::Status ConnectAttempts::failure() const {
  const absl::Status joined(last_.code(), absl::StrJoin(texts_, "; "));
  return sqlstate_.empty() ? joined : WithSqlstate(joined, sqlstate_);
}

}  // namespace walpost
