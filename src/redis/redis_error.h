// The table of Redis' errors: what an error reply means for the records that
// it is about, and what an operator should do. Its first word is its code.
//
//   kRetry      passes by itself, on the same connection: memory, disk,
//               replicas
//   kReconnect  the server is not, or no longer, the right one
//   kNoScript   the server does not know the script any more: send it again
//   kRefused    an operator must act, or the record cannot be written; the
//               status says which (delivery/error_policy.h)
//
// Pure. An error that is not in the table means stop.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/server_place.h"
#include "redis/options.h"

namespace walpost {

struct RedisError {
  enum class Remedy { kRetry, kReconnect, kNoScript, kRefused };

  Remedy remedy;
  absl::Status status;
  bool is_of_credentials = false;
};

// Whose rights a hint is about.
struct RedisGrant {
  std::string user = "default";
  std::string stream = {};  // empty: none
  enum class Server { kAlone, kClusterNode, kSentinel };
  Server server = Server::kAlone;
};

// The user of the configuration, by name.
std::string RedisUserOf(const RedisOptions& options);
RedisGrant GrantOf(const RedisOptions& options, std::string stream = {});

// `attempted`: "adding to stream orders". `error`: the reply.
RedisError ClassifyRedisError(std::string_view error,
                              std::string_view attempted,
                              const RedisGrant& grant = {});

// Redirection: the answer of a node of a Redis Cluster that does not have the
// hash slot, or has it no longer.
//
//   MOVED 3999 127.0.0.1:6381    that node has it, from now on
//   ASK 3999 127.0.0.1:6381      that node has this key already, while the
//                                slot is on its way
struct Redirection {
  enum class Kind { kMoved, kAsk };

  // `asked`: the node that answers; one without a host is reached by its host.
  // nullopt: the error is another one.
  static std::optional<Redirection> Of(std::string_view error,
                                       const ServerPlace& asked);

  Kind kind;
  ServerPlace place;
};

}  // namespace walpost
