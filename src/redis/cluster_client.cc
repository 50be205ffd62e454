#include "redis/cluster_client.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <thread>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPause{200};
// Redirections in a row that are followed at once.
constexpr int kMaxHops = 5;

// They pass while slots move, or a master is replaced.
bool Passes(std::string_view error) {
  constexpr std::array kStarts = {"CLUSTERDOWN ", "TRYAGAIN ", "LOADING ",
                                  "MASTERDOWN "};
  return std::ranges::any_of(
      kStarts, [error](const char* start) { return error.starts_with(start); });
}

}  // namespace

absl::StatusOr<Reply> ClusterClient::Ask(
    const std::string& stream, const std::vector<std::string>& command) {
  const MonotonicTime limit = Clock::now() + patience_;
  std::optional<Redirection> redirection;
  for (int hops = 0;;) {
    absl::StatusOr<Reply> reply = AskOnce(stream, command, redirection);
    if (reply.ok() && !redirection && !Passes(reply->text())) return reply;
    if (redirection && ++hops <= kMaxHops) continue;
    hops = 0;
    const absl::Status trouble =
        reply.ok() ? absl::UnavailableError(std::string(reply->text()))
                   : reply.status();
    if (!absl::IsUnavailable(trouble)) return trouble;
    Forget();
    redirection.reset();
    if (!MayTryAgain(limit)) return GivenUp(trouble);
  }
}

absl::StatusOr<Reply> ClusterClient::AskOnce(
    const std::string& stream, const std::vector<std::string>& command,
    std::optional<Redirection>& redirection) {
  const std::optional<Redirection> followed =
      std::exchange(redirection, std::nullopt);
  const bool is_asking = followed && followed->kind == Redirection::Kind::kAsk;
  if (followed && !is_asking) slots_.reset();
  absl::StatusOr<ServerPlace> place =
      followed ? followed->place : PlaceOf(stream);
  if (!place.ok()) return place.status();
  WALPOST_ASSIGN_OR_RETURN(const Client client, ClientOf(*place));
  WALPOST_ASSIGN_OR_RETURN(Reply reply, is_asking
                                            ? client->AskWithAsking(command)
                                            : client->Ask(command));
  if (reply.is_error()) redirection = Redirection::Of(reply.text(), *place);
  return reply;
}

absl::StatusOr<ClusterClient::Clients> ClusterClient::Masters() {
  const MonotonicTime limit = Clock::now() + patience_;
  for (;;) {
    Forget();
    absl::StatusOr<Clients> found = FindMasters();
    if (found.ok() || !absl::IsUnavailable(found.status())) return found;
    if (!MayTryAgain(limit)) return GivenUp(found.status());
  }
}

absl::StatusOr<ClusterClient::Clients> ClusterClient::FindMasters() {
  WALPOST_ASSIGN_OR_RETURN(slots_, RedisClient::FindSlots(options_));
  if (slots_->served() < ClusterSlots::kCount) {
    return absl::UnavailableError(
        fmt::format("no node serves {} of the hash slots",
                    ClusterSlots::kCount - slots_->served()));
  }
  Clients masters;
  for (const ClusterSlots::Range& node : slots_->Masters()) {
    WALPOST_ASSIGN_OR_RETURN(Client client, ClientOf(node.master));
    masters.push_back(std::move(client));
  }
  return masters;
}

absl::StatusOr<ServerPlace> ClusterClient::PlaceOf(const std::string& stream) {
  if (!slots_) {
    WALPOST_ASSIGN_OR_RETURN(slots_, RedisClient::FindSlots(options_));
  }
  const uint16_t slot = HashSlotOf(stream);
  const std::optional<ServerPlace> place = slots_->MasterOf(slot);
  if (place) return *place;
  return absl::UnavailableError(
      fmt::format("no node serves hash slot {} of stream {}", slot, stream));
}

absl::StatusOr<ClusterClient::Client> ClusterClient::ClientOf(
    const ServerPlace& place) {
  Client& client = clients_[place.ToString()];
  if (client == nullptr) {
    WALPOST_ASSIGN_OR_RETURN(client, RedisClient::ConnectTo(options_, place));
  }
  return client;
}

bool ClusterClient::MayTryAgain(MonotonicTime limit) const {
  if (Clock::now() + kPause >= limit) return false;
  std::this_thread::sleep_for(kPause);
  return true;
}

absl::Status ClusterClient::GivenUp(const absl::Status& last) const {
  return absl::UnavailableError(fmt::format(
      "Redis Cluster: {} (tried for {} s): see redis-cli --cluster check {}; "
      "once it is in order, run this again",
      std::string(last.message()),
      std::chrono::duration_cast<std::chrono::seconds>(patience_).count(),
      options_.cluster.front()));
}

void ClusterClient::Forget() {
  slots_.reset();
  clients_.clear();
}

}  // namespace walpost
