#include <chrono>
#include <utility>

#include "absl/strings/str_join.h"
#include "app/sink/broker.h"
#include "app/sink/checked_topics.h"
#include "base/kafka_cluster.h"
#include "redis/redis_sinks.h"

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

  std::string_view why_unread() const override {
    return "streams are trimmed and consumed at will; XRANGE shows what is in "
           "one";
  }

 private:
  const Config& config_;
};

}  // namespace

std::unique_ptr<Broker> MakeRedisBroker(const Config& config) {
  return std::make_unique<RedisBroker>(config);
}

}  // namespace walpost
