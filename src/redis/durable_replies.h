// The commands that wait until a round is durable, and their replies.
//
//   WAITAOF 1 0 t    the server has synced it (from Redis 7.2 on)
//   WAIT n t         n replicas have it
//
// Before 7.2, `appendfsync always` syncs before the answer to the write itself.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "redis/options.h"
#include "redis/redis_facts.h"
#include "redis/resp.h"

namespace walpost {

std::string WaitCommands(const RedisOptions& options, const RedisFacts& facts);
size_t CountWaits(const RedisOptions& options, const RedisFacts& facts);

struct DurableReplies {
  bool is_durable = false;
  std::string trouble;  // why it is not yet
  absl::Status error;   // it will not be, on this connection
};
// `waits`: the replies to WaitCommands, in their order.
DurableReplies JudgeWaits(const std::vector<Reply>& waits,
                          const RedisOptions& options, const std::string& name);

}  // namespace walpost
