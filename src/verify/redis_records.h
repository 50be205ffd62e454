// RedisRecords: the entries that the streams of Redis have, as docs/redis.md
// lays them out. The key of a stream is the topic.
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "verify/published_records.h"

namespace walpost {

struct FreeRedisReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using RedisReplyHandle = std::unique_ptr<redisReply, FreeRedisReply>;

// Sends a command to a server that walpost writes to, and waits for the reply,
// which may be an error. verify does not include redis/ for it.
using AskRedis = std::function<absl::StatusOr<RedisReplyHandle>(
    const std::vector<std::string>& command)>;

// One server, or the nodes of a cluster.
struct RedisServers {
  // Asks the one that has the stream.
  std::function<absl::StatusOr<RedisReplyHandle>(
      const std::string& stream, const std::vector<std::string>& command)>
      ask_of;
  // Those that have the streams, as they are now: each master.
  std::function<absl::StatusOr<std::vector<AskRedis>>()> masters;
  // Meanwhile streams may move from one to another.
  bool streams_move = false;
  // The user that asks.
  std::string user;
};

class RedisRecords final : public PublishedRecords {
 public:
  explicit RedisRecords(RedisServers servers) : servers_(std::move(servers)) {}

  std::string_view name() const override { return "Redis"; }
  absl::StatusOr<std::set<std::string>> FindTopics(
      const std::set<std::string>& names,
      const std::set<std::string>& prefixes) override;
  absl::Status Read(
      const std::set<std::string>& topics,
      const std::function<absl::Status(FoundRecord&)>& take) override;
  int64_t total() const override { return total_; }
  // Entries that were trimmed or deleted, by what the stream counts
  // (entries-added). A stream that was deleted and made again counts from the
  // beginning: its rows are missing.
  absl::StatusOr<DeletedRecords> AddDeletedRecords(
      const std::set<std::string>& topics, AuditDatabase& audit) override;

 private:
  struct Stream {
    int64_t length = 0;
    int64_t added = 0;  // ever
    std::string last_id;
  };
  using Take = std::function<absl::Status(FoundRecord&)>;

  // The reply about a stream, which is not an error. kPermissionDenied: the
  // user lacks the command or the key.
  absl::StatusOr<RedisReplyHandle> Ask(
      const std::string& stream, const std::vector<std::string>& command) const;
  // `reply` to `command` about streams of the pattern; errors as above.
  absl::StatusOr<RedisReplyHandle> Judge(
      absl::StatusOr<RedisReplyHandle> reply,
      const std::vector<std::string>& command,
      const std::string& pattern) const;
  absl::Status ScanMasters(const std::set<std::string>& prefixes,
                           std::set<std::string>& topics) const;
  absl::Status Scan(const AskRedis& node, const std::string& pattern,
                    std::set<std::string>& topics) const;
  absl::StatusOr<Stream> Look(const std::string& topic);
  absl::Status ReadStream(const std::string& topic, const std::string& last_id,
                          const Take& take);

  const RedisServers servers_;
  int64_t total_ = 0;
};

}  // namespace walpost
