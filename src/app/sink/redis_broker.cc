#include <chrono>
#include <utility>

#include "absl/strings/str_join.h"
#include "app/sink/broker.h"
#include "app/sink/checked_topics.h"
#include "base/kafka_cluster.h"
#include "base/status_macros.h"
#include "redis/redis_client.h"
#include "redis/redis_sinks.h"
#include "verify/redis_records.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

AskRedis AskBy(std::shared_ptr<RedisClient> client) {
  return [client = std::move(client)](const std::vector<std::string>& command)
             -> absl::StatusOr<RedisReplyHandle> {
    WALPOST_ASSIGN_OR_RETURN(Reply reply, client->Ask(command));
    return RedisReplyHandle(std::move(reply).Release());
  };
}

absl::StatusOr<std::unique_ptr<PublishedRecords>> ConnectToCluster(
    const RedisOptions& redis) {
  WALPOST_ASSIGN_OR_RETURN(ClusterSlots slots, RedisClient::FindSlots(redis));
  if (slots.served() < ClusterSlots::kCount) {
    return absl::UnavailableError(
        "Redis: no node serves some of the hash slots: redis-cli --cluster "
        "fix");
  }
  std::vector<AskRedis> nodes;
  for (const ClusterSlots::Range& node : slots.Masters()) {
    WALPOST_ASSIGN_OR_RETURN(std::shared_ptr<RedisClient> client,
                             RedisClient::Connect(redis, node.first));
    nodes.push_back(AskBy(std::move(client)));
  }
  return std::make_unique<RedisRecords>(
      std::move(nodes), [slots = std::move(slots)](const std::string& stream) {
        return slots.IndexOf(HashSlotOf(stream));
      });
}

class RedisBroker final : public Broker {
 public:
  explicit RedisBroker(const Config& config) : config_(config) {}

  std::string address() const override {
    const RedisOptions& redis = config_.redis;
    if (!redis.address.empty()) return redis.address;
    return absl::StrJoin(
        redis.cluster.empty() ? redis.sentinels : redis.cluster, ",");
  }

  absl::Status CheckOptions() const override {
    return CheckRedisOptions(config_.redis);
  }

  SinkFactory Sinks(asio::any_io_executor executor) const override {
    return RedisSinks(std::move(executor), config_.redis);
  }

  std::unique_ptr<SinkKnowledge> Knowledge(
      asio::any_io_executor executor) const override {
    return MakeRedisKnowledge(std::move(executor), config_.redis);
  }

  absl::StatusOr<SinkFindings> Check(
      const std::vector<Route>& routes,
      const std::optional<TransactionalIds>& /*ids*/) const override {
    std::vector<std::string> streams;
    for (const TopicNames& topic : CheckedTopics(config_, routes)) {
      if (topic.is_whole) streams.push_back(topic.text);
    }
    return CheckRedis(config_.redis, streams, std::chrono::seconds(10));
  }

  absl::StatusOr<std::string> ClusterId() const override {
    return std::string(kUnnamedRedis);
  }

  ConnectToRecords Records() const override {
    return [redis = config_.redis]()
               -> absl::StatusOr<std::unique_ptr<PublishedRecords>> {
      if (redis.cluster.empty()) {
        WALPOST_ASSIGN_OR_RETURN(std::shared_ptr<RedisClient> client,
                                 RedisClient::Connect(redis));
        return std::make_unique<RedisRecords>(
            std::vector{AskBy(std::move(client))},
            [](const std::string& /*stream*/) { return size_t{0}; });
      }
      return ConnectToCluster(redis);
    };
  }

 private:
  const Config& config_;
};

}  // namespace

std::unique_ptr<Broker> MakeRedisBroker(const Config& config) {
  return std::make_unique<RedisBroker>(config);
}

}  // namespace walpost
