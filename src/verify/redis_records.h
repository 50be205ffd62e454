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

class RedisRecords final : public PublishedRecords {
 public:
  // The masters, which are one or those of a cluster; `node_of`: which of them
  // has a stream.
  RedisRecords(std::vector<AskRedis> nodes,
               std::function<size_t(const std::string& stream)> node_of)
      : nodes_(std::move(nodes)), node_of_(std::move(node_of)) {}

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

  // The reply, which is not an error. kPermissionDenied: the user lacks the
  // command or the key.
  static absl::StatusOr<RedisReplyHandle> Ask(
      const AskRedis& node, const std::vector<std::string>& command);
  const AskRedis& NodeOf(const std::string& stream) const {
    return nodes_[node_of_(stream)];
  }
  static absl::Status Scan(const AskRedis& node, const std::string& pattern,
                           std::set<std::string>& topics);
  absl::StatusOr<Stream> Look(const std::string& topic);
  absl::Status ReadStream(const std::string& topic, const std::string& last_id,
                          const Take& take);

  std::vector<AskRedis> nodes_;
  std::function<size_t(const std::string&)> node_of_;
  int64_t total_ = 0;
};

}  // namespace walpost
