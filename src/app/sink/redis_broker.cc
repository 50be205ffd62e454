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

class RedisBroker final : public Broker {
 public:
  explicit RedisBroker(const Config& config) : config_(config) {}

  std::string address() const override {
    if (config_.redis.sentinels.empty()) return config_.redis.address;
    return absl::StrJoin(config_.redis.sentinels, ",");
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
      WALPOST_ASSIGN_OR_RETURN(std::shared_ptr<RedisClient> client,
                               RedisClient::Connect(redis));
      return std::make_unique<RedisRecords>(
          [client = std::move(client)](const std::vector<std::string>& command)
              -> absl::StatusOr<RedisReplyHandle> {
            WALPOST_ASSIGN_OR_RETURN(Reply reply, client->Ask(command));
            return RedisReplyHandle(std::move(reply).Release());
          });
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
