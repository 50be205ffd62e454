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

#include <string>
#include <string_view>

#include "absl/status/status.h"
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

}  // namespace walpost
