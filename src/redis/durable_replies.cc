#include "redis/durable_replies.h"

#include "fmt/format.h"
#include "redis/redis_error.h"

namespace walpost {
namespace {

// The connection answers nothing else for as long.
constexpr char kWaitMillis[] = "1000";

bool WaitsForSync(const RedisOptions& options, const RedisFacts& facts) {
  return options.durability == RedisDurability::kFsync &&
         facts.has_wait_aof() && !facts.SyncsBeforeAnswers();
}

}  // namespace

std::string WaitCommands(const RedisOptions& options, const RedisFacts& facts) {
  std::string bytes;
  if (WaitsForSync(options, facts)) {
    bytes += Command({"WAITAOF", "1", "0", kWaitMillis});
  }
  if (options.replicas > 0) {
    const std::string replicas = fmt::format("{}", options.replicas);
    bytes += Command({"WAIT", replicas, kWaitMillis});
  }
  return bytes;
}

size_t CountWaits(const RedisOptions& options, const RedisFacts& facts) {
  return (WaitsForSync(options, facts) ? 1 : 0) +
         (options.replicas > 0 ? 1 : 0);
}

DurableReplies JudgeWaits(const std::vector<Reply>& waits,
                          const RedisOptions& options,
                          const std::string& name) {
  for (const Reply& reply : waits) {
    if (reply.is_error()) {
      const std::string attempted =
          fmt::format("{}: waiting until entries are durable", name);
      return {
          false, "",
          ClassifyRedisError(reply.text(), attempted, GrantOf(options)).status};
    }
    if (reply.is_array() && reply.integer(0) < 1) {
      return {false,
              fmt::format("{}: the entries are not synced to its append-only "
                          "file yet (WAITAOF)",
                          name),
              absl::OkStatus()};
    }
    if (reply.is_integer() &&
        reply.integer() < static_cast<int64_t>(options.replicas)) {
      return {false,
              fmt::format("{}: {} of {} replicas have the entries "
                          "(redis.replicas); start the others (INFO "
                          "replication lists those that are connected)",
                          name, reply.integer(), options.replicas),
              absl::OkStatus()};
    }
  }
  return {true, "", absl::OkStatus()};
}

}  // namespace walpost
