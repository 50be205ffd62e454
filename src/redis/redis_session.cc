#include "redis/redis_session.h"

#include <charconv>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "redis/redis_error.h"
#include "redis/redis_place.h"

namespace walpost {

namespace asio = boost::asio;
using Replies = std::vector<Reply>;

namespace {

constexpr std::string_view kSentinelAt = "Sentinel at ";

// A server that hangs leaves time for the next ones.
MonotonicTime ShareOf(MonotonicTime deadline) {
  const MonotonicTime now = std::chrono::steady_clock::now();
  return now + (deadline - now) / 3;
}

}  // namespace

asio::awaitable<absl::Status> RedisSession::Open(MonotonicTime deadline) {
  rejects_credentials_ = false;
  if (!options_.cluster.empty() && !slot_) {
    co_return co_await OpenAnyMaster(deadline);
  }
  absl::StatusOr<ServerPlace> place;
  if (!options_.address.empty()) {
    place = ParseRedisPlace(options_.address);
  } else {
    place = co_await FindMaster(deadline);
  }
  if (!place.ok()) co_return place.status();
  co_return co_await OpenAt(*place, deadline);
}

asio::awaitable<absl::Status> RedisSession::OpenAnyMaster(
    MonotonicTime deadline) {
  WALPOST_CO_ASSIGN_OR_RETURN(const ClusterSlots slots,
                              co_await FindSlots(deadline));
  absl::Status trouble = absl::UnavailableError(
      fmt::format("{}: no node serves a hash slot", name_));
  for (const ClusterSlots::Range& node : slots.Masters()) {
    rejects_credentials_ = false;
    trouble = co_await OpenAt(node.master, ShareOf(deadline));
    if (trouble.ok()) break;
  }
  co_return trouble;
}

asio::awaitable<absl::Status> RedisSession::OpenAt(const ServerPlace& place,
                                                   MonotonicTime deadline) {
  name_ = fmt::format("Redis at {}", place.ToString());
  absl::Status status = co_await connection_.Open(place, options_, deadline);
  // Files of TLS, here or there.
  rejects_credentials_ |= absl::IsFailedPrecondition(status);
  if (!status.ok()) co_return status;
  WALPOST_CO_RETURN_IF_ERROR(co_await Authenticate(
      connection_, options_.user, options_.password, deadline));
  co_return co_await Greet(deadline);
}

asio::awaitable<absl::StatusOr<ServerPlace>> RedisSession::FindMaster(
    MonotonicTime deadline) {
  if (!options_.cluster.empty()) {
    WALPOST_CO_ASSIGN_OR_RETURN(const ClusterSlots slots,
                                co_await FindSlots(deadline));
    const std::optional<ServerPlace> master = slots.MasterOf(*slot_);
    if (master) co_return *master;
    co_return absl::UnavailableError(fmt::format(
        "{0}: no node serves {1} hash slots: redis-cli --cluster fix {2}",
        name_, ClusterSlots::kCount - slots.served(),
        options_.cluster.front()));
  }
  co_return co_await AskInTurn(options_.sentinels, ParseSentinelPlace,
                               &RedisSession::AskSentinel, deadline);
}

asio::awaitable<absl::StatusOr<ClusterSlots>> RedisSession::FindSlots(
    MonotonicTime deadline) {
  co_return co_await AskInTurn(options_.cluster, ParseNodePlace,
                               &RedisSession::AskNode, deadline);
}

template <typename Answer>
asio::awaitable<absl::StatusOr<Answer>> RedisSession::AskInTurn(
    const std::vector<std::string>& addresses, ParsePlace parse,
    AskGuide<Answer> ask, MonotonicTime deadline) {
  absl::Status trouble;
  for (const std::string& address : addresses) {
    WALPOST_CO_ASSIGN_OR_RETURN(const ServerPlace place, parse(address));
    rejects_credentials_ = false;
    absl::StatusOr<Answer> answer =
        co_await (this->*ask)(place, ShareOf(deadline));
    if (answer.ok()) co_return answer;
    trouble = answer.status();
  }
  co_return trouble;
}

// A node that is cut off from the others knows only how it was.
asio::awaitable<absl::StatusOr<ClusterSlots>> RedisSession::AskNode(
    const ServerPlace& place, MonotonicTime deadline) {
  name_ = fmt::format("Redis at {}", place.ToString());
  const absl::Status opened = co_await guide_.Open(place, options_, deadline);
  rejects_credentials_ |= absl::IsFailedPrecondition(opened);
  if (!opened.ok()) co_return opened;
  WALPOST_CO_RETURN_IF_ERROR(co_await Authenticate(
      guide_, options_.user, options_.password, deadline));
  const std::string questions =
      Command({"CLUSTER", "INFO"}) + Command({"CLUSTER", "SLOTS"});
  WALPOST_CO_ASSIGN_OR_RETURN(Replies replies,
                              co_await guide_.Ask(questions, 2, deadline));
  for (const Reply& reply : replies) {
    if (!reply.is_error()) continue;
    co_return Refused(reply.text(),
                      fmt::format("{}: CLUSTER INFO, SLOTS", name_));
  }
  ClusterSlots slots = ClusterSlots::Of(replies[1], place);
  if (replies[0].text().find("cluster_state:ok") == std::string_view::npos) {
    const auto master = slot_ ? slots.MasterOf(*slot_) : std::nullopt;
    co_return absl::UnavailableError(fmt::format(
        "{}: the cluster is down, or this node is cut off (CLUSTER INFO){}",
        name_,
        master ? fmt::format("; the events are for the master {}: is it up?",
                             master->ToString())
               : ""));
  }
  co_return slots;
}

asio::awaitable<absl::StatusOr<ServerPlace>> RedisSession::AskSentinel(
    const ServerPlace& place, MonotonicTime deadline) {
  name_ = fmt::format("{}{}", kSentinelAt, place.ToString());
  WALPOST_CO_RETURN_IF_ERROR(co_await guide_.Open(place, options_, deadline));
  WALPOST_CO_RETURN_IF_ERROR(co_await Authenticate(
      guide_, options_.sentinel_user, options_.sentinel_password, deadline));
  const std::string question =
      Command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", options_.master});
  WALPOST_CO_ASSIGN_OR_RETURN(Replies replies,
                              co_await guide_.Ask(question, 1, deadline));
  const Reply& answer = replies.front();
  if (answer.is_error()) {
    co_return Refused(answer.text(),
                      fmt::format("{}: asked for the master", name_));
  }
  if (answer.size() != 2) {
    co_return absl::UnavailableError(
        fmt::format("{} knows no master '{}': correct redis.master (SENTINEL "
                    "MASTERS lists them)",
                    name_, options_.master));
  }
  ServerPlace master{std::string(answer.text(0)), 0};
  const std::string_view port = answer.text(1);
  std::from_chars(port.data(), port.data() + port.size(), master.port);
  co_return master;
}

asio::awaitable<absl::Status> RedisSession::Authenticate(
    RedisConnection& connection, const ReloadableText& username,
    const ReloadableText& password, MonotonicTime deadline) {
  WALPOST_CO_ASSIGN_OR_RETURN(const std::string user, username.Read());
  WALPOST_CO_ASSIGN_OR_RETURN(const std::string secret, password.Read());
  if (user.empty() && secret.empty()) co_return absl::OkStatus();
  const std::string command = user.empty() ? Command({"AUTH", secret})
                                           : Command({"AUTH", user, secret});
  WALPOST_CO_ASSIGN_OR_RETURN(Replies replies,
                              co_await connection.Ask(command, 1, deadline));
  const Reply& answer = replies.front();
  if (!answer.is_error()) co_return absl::OkStatus();
  co_return Refused(answer.text(), fmt::format("{}: AUTH", name_));
}

asio::awaitable<absl::Status> RedisSession::Greet(MonotonicTime deadline) {
  const std::string database = fmt::format("{}", options_.database);
  const std::string commands =
      Command({"SELECT", database}) + Command({"INFO"}) +
      Command({"CLIENT", "SETNAME", options_.client_name});
  WALPOST_CO_ASSIGN_OR_RETURN(Replies replies,
                              co_await connection_.Ask(commands, 3, deadline));
  for (size_t i = 0; i < 2; ++i) {
    // A right to SELECT is only needed for another database than the first.
    const bool is_needed = i == 1 || options_.database != 0;
    if (!is_needed || !replies[i].is_error()) continue;
    co_return Refused(replies[i].text(),
                      fmt::format("{}: {}", name_, i == 0 ? "SELECT" : "INFO"));
  }
  facts_ = RedisFacts::Of(replies[1].text());
  if (facts_.is_sentinel) co_return absl::OkStatus();  // JudgeServer
  if (facts_.is_loading) {
    co_return absl::UnavailableError(
        fmt::format("{}: it loads its data", name_));
  }
  // In the middle of a failover.
  if (!facts_.is_master && options_.address.empty()) {
    co_return absl::UnavailableError(fmt::format(
        "{}: {} it the master, and it is a replica", name_,
        options_.cluster.empty() ? "the Sentinels call" : "the cluster calls"));
  }
  if (options_.durability == RedisDurability::kFsync) {
    co_return co_await ReadConfig(deadline);
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> RedisSession::ReadConfig(MonotonicTime deadline) {
  const std::string command = Command({"CONFIG", "GET", "append*"}) +
                              Command({"CONFIG", "GET", "no-append*"});
  WALPOST_CO_ASSIGN_OR_RETURN(Replies replies,
                              co_await connection_.Ask(command, 2, deadline));
  for (const Reply& reply : replies) facts_.AddConfig(reply.texts());
  co_return absl::OkStatus();
}

absl::Status RedisSession::Refused(std::string_view error,
                                   std::string_view attempted) {
  RedisGrant grant = GrantOf(options_);
  if (name_.starts_with(kSentinelAt)) {
    const std::string user = options_.sentinel_user.Read().value_or("");
    grant = {user.empty() ? RedisGrant().user : user, "",
             RedisGrant::Server::kSentinel};
  }
  const RedisError refused = ClassifyRedisError(error, attempted, grant);
  rejects_credentials_ |= refused.is_of_credentials;
  return refused.status;
}

}  // namespace walpost
