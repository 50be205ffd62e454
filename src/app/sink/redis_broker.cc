#include <chrono>
#include <utility>

#include "absl/strings/str_join.h"
#include "app/sink/broker.h"
#include "app/sink/checked_topics.h"
#include "base/kafka_cluster.h"
#include "base/status_macros.h"
#include "redis/cluster_client.h"
#include "redis/redis_client.h"
#include "redis/redis_error.h"
#include "redis/redis_sinks.h"
#include "verify/redis_records.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

absl::StatusOr<RedisReplyHandle> HandleOf(absl::StatusOr<Reply> reply) {
  if (!reply.ok()) return reply.status();
  return RedisReplyHandle(std::move(*reply).Release());
}

AskRedis AskBy(std::shared_ptr<RedisClient> client) {
  return [client = std::move(client)](const std::vector<std::string>& command) {
    return HandleOf(client->Ask(command));
  };
}

absl::StatusOr<std::unique_ptr<PublishedRecords>> ConnectToServer(
    const RedisOptions& redis) {
  WALPOST_ASSIGN_OR_RETURN(std::shared_ptr<RedisClient> client,
                           RedisClient::Connect(redis));
  const AskRedis ask = AskBy(std::move(client));
  return std::make_unique<RedisRecords>(
      RedisServers{.ask_of =
                       [ask](const std::string& /*stream*/,
                             const std::vector<std::string>& command) {
                         return ask(command);
                       },
                   .masters = [ask] { return std::vector{ask}; },
                   .user = RedisUserOf(redis)});
}

absl::StatusOr<std::unique_ptr<PublishedRecords>> ConnectToCluster(
    const RedisOptions& redis) {
  auto cluster = std::make_shared<ClusterClient>(redis);
  WALPOST_RETURN_IF_ERROR(cluster->Masters().status());
  return std::make_unique<RedisRecords>(RedisServers{
      .ask_of =
          [cluster](const std::string& stream,
                    const std::vector<std::string>& command) {
            return HandleOf(cluster->Ask(stream, command));
          },
      .masters = [cluster]() -> absl::StatusOr<std::vector<AskRedis>> {
        WALPOST_ASSIGN_OR_RETURN(const auto clients, cluster->Masters());
        std::vector<AskRedis> masters;
        for (const auto& client : clients) masters.push_back(AskBy(client));
        return masters;
      },
      .streams_move = true,
      .user = RedisUserOf(redis)});
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
      return redis.cluster.empty() ? ConnectToServer(redis)
                                   : ConnectToCluster(redis);
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
