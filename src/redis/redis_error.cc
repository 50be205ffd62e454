#include "redis/redis_error.h"

#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "base/reason_code.h"
#include "fmt/format.h"

namespace walpost {
namespace {

using Remedy = RedisError::Remedy;

struct Rule {
  std::string_view start;
  Remedy remedy;
  absl::StatusCode code;
  std::string_view hint;
  bool is_of_credentials = false;
};

constexpr auto kUnavailable = absl::StatusCode::kUnavailable;
constexpr auto kAborted = absl::StatusCode::kAborted;
constexpr auto kOperator = absl::StatusCode::kFailedPrecondition;

constexpr std::array kRules = {
    Rule{"OOM ", Remedy::kRetry, kUnavailable,
         "Redis has reached maxmemory: let consumers trim their streams, set "
         "redis.max_entries, or raise the limit (CONFIG SET maxmemory BYTES)"},
    Rule{"MISCONF ", Remedy::kRetry, kUnavailable,
         "Redis cannot write to its disk: free space in its folder (CONFIG GET "
         "dir), and see its log"},
    Rule{"NOREPLICAS ", Remedy::kRetry, kUnavailable,
         "start the replicas that min-replicas-to-write asks for"},
    Rule{"LOADING ", Remedy::kRetry, kUnavailable, ""},
    Rule{"BUSY ", Remedy::kRetry, kUnavailable,
         "another client's script blocks Redis: SCRIPT KILL ends it"},
    Rule{"TRYAGAIN ", Remedy::kRetry, kUnavailable, ""},
    Rule{"CLUSTERDOWN ", Remedy::kReconnect, kUnavailable, ""},
    Rule{"ASK ", Remedy::kRetry, kUnavailable,
         "the slot is being moved to another node, and the stream waits for "
         "it (redis-cli --cluster fix ends what was left unfinished)"},
    Rule{"NOSCRIPT ", Remedy::kNoScript, kAborted, ""},
    Rule{"READONLY ", Remedy::kReconnect, kUnavailable,
         "the server is a replica: with redis.sentinels walpost asks for the "
         "master; redis.address must name it"},
    Rule{"MASTERDOWN ", Remedy::kReconnect, kUnavailable, ""},
    Rule{"UNBLOCKED ", Remedy::kReconnect, kUnavailable, ""},
    Rule{"ERR WAIT cannot be used with replica", Remedy::kReconnect,
         kUnavailable, ""},
    Rule{"NOAUTH ", Remedy::kRefused, kOperator,
         "set redis.user and redis.password", true},
    Rule{"WRONGPASS ", Remedy::kRefused, kOperator,
         "correct redis.user and redis.password", true},
    Rule{"ERR AUTH ", Remedy::kRefused, kOperator,
         "Redis has no password for this user: remove redis.password", true},
    Rule{"NOPERM ", Remedy::kRefused, kOperator,
         "ACL SETUSER NAME ~STREAM +@connection +eval +evalsha +xadd +xrange "
         "+xtrim +xsetid +xinfo|stream +info +config|get +wait +select "
         "+type"},
    Rule{"ERR The user executing the script can't", Remedy::kRefused, kOperator,
         "ACL SETUSER NAME ~STREAM +xadd +xrange +xtrim +xsetid +xinfo"},
    Rule{"ERR ACL failure in script", Remedy::kRefused, kOperator,
         "ACL SETUSER NAME ~STREAM +xadd +xrange +xtrim +xinfo"},
    Rule{"WRONGTYPE ", Remedy::kRefused, kOperator,
         "the key is not a stream: rename it (RENAME KEY NEW), or write to "
         "another one (route.topic)"},
    Rule{"ERR unknown command 'SENTINEL'", Remedy::kRefused, kOperator,
         "it is a Redis server, not a Sentinel: name it in redis.address, in "
         "place of redis.sentinels and redis.master"},
    Rule{"ERR unknown command 'CLUSTER'", Remedy::kRefused, kOperator,
         "it is not a node of a Redis Cluster: name a Sentinel in "
         "redis.sentinels, and a server in redis.address"},
    Rule{"MOVED ", Remedy::kReconnect, kUnavailable, ""},
    Rule{"ERR This instance has cluster support disabled", Remedy::kRefused,
         kOperator, "redis.address in place of redis.cluster"},
};

constexpr std::string_view kRights = "ACL SETUSER NAME";
constexpr std::string_view kStream = " ~STREAM";
constexpr std::string_view kTooLarge = "Elements are too large";

// The hint with the names of `grant`.
std::string HintOf(const Rule& rule, const RedisGrant& grant) {
  using Server = RedisGrant::Server;
  if (!rule.hint.starts_with(kRights)) return std::string(rule.hint);
  std::string hint = fmt::format("ACL SETUSER {}", grant.user);
  if (grant.server == Server::kSentinel) {
    return hint + " +@connection +sentinel|get-master-addr-by-name";
  }
  std::string_view rights = rule.hint.substr(kRights.size());
  if (rights.starts_with(kStream)) rights.remove_prefix(kStream.size());
  if (!grant.stream.empty()) hint += " ~" + grant.stream;
  hint += rights;
  const bool is_of_server = rule.start == "NOPERM ";
  if (is_of_server && grant.server == Server::kClusterNode) {
    hint += " +cluster|info +cluster|slots";
  }
  return hint;
}

}  // namespace

std::string RedisUserOf(const RedisOptions& options) {
  std::string user = options.user.Read().value_or("");
  return user.empty() ? RedisGrant().user : user;
}

RedisGrant GrantOf(const RedisOptions& options, std::string stream) {
  using Server = RedisGrant::Server;
  return {RedisUserOf(options), std::move(stream),
          options.cluster.empty() ? Server::kAlone : Server::kClusterNode};
}

RedisError ClassifyRedisError(std::string_view error,
                              std::string_view attempted,
                              const RedisGrant& grant) {
  const auto text = [&](std::string_view hint) {
    return fmt::format("{}: {}{}{}", attempted, error, hint.empty() ? "" : "; ",
                       hint);
  };
  for (const Rule& rule : kRules) {
    if (!error.starts_with(rule.start)) continue;
    return {rule.remedy, absl::Status(rule.code, text(HintOf(rule, grant))),
            rule.is_of_credentials};
  }
  if (error.find(kTooLarge) != std::string_view::npos) {
    return {Remedy::kRefused, Undeliverable(kReasonRecordTooLarge, text(""))};
  }
  return {Remedy::kRefused, absl::FailedPreconditionError(text(""))};
}

std::optional<Redirection> Redirection::Of(std::string_view error,
                                           const ServerPlace& asked) {
  const bool is_moved = error.starts_with("MOVED ");
  if (!is_moved && !error.starts_with("ASK ")) return std::nullopt;
  const std::string_view place = error.substr(error.rfind(' ') + 1);
  const size_t colon = place.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view host = place.substr(0, colon);
  const std::string_view port = place.substr(colon + 1);
  Redirection found{is_moved ? Kind::kMoved : Kind::kAsk, {}};
  const auto parsed =
      std::from_chars(port.data(), port.data() + port.size(), found.place.port);
  if (parsed.ec != std::errc() || found.place.port == 0) return std::nullopt;
  found.place.host =
      host.empty() || host == "?" ? asked.host : std::string(host);
  return found;
}

}  // namespace walpost
