#include "redis/redis_sinks.h"

#include <utility>

#include "base/status_macros.h"
#include "redis/cluster_sink.h"
#include "redis/redis_place.h"
#include "redis/redis_sink.h"
#include "redis/stream_tops.h"

namespace walpost {
namespace {

SinkFactory SinksWith(boost::asio::any_io_executor executor,
                      RedisOptions options, StreamTops* tops) {
  return [=](const SinkOptions& wanted, RecordReports& reports,
             std::function<void()> on_drained)
             -> absl::StatusOr<std::unique_ptr<Sink>> {
    WALPOST_RETURN_IF_ERROR(CheckRedisOptions(options));
    WALPOST_ASSIGN_OR_RETURN(const Sha256Digest digest,
                             RedisSink::DigestOf(options));
    RedisOptions own = options;
    own.client_name += wanted.client_id_suffix;
    if (!own.cluster.empty()) {
      return std::make_unique<ClusterSink>(executor, own, digest, reports,
                                           std::move(on_drained), tops);
    }
    return std::make_unique<RedisSink>(executor, own, digest, reports,
                                       std::move(on_drained), tops);
  };
}

class RedisStreamKnowledge final : public TopicKnowledge {
 public:
  RedisStreamKnowledge(boost::asio::any_io_executor executor,
                       RedisOptions options, StreamTops& whole,
                       std::string stream)
      : executor_(std::move(executor)),
        options_(std::move(options)),
        whole_(whole),
        stream_(std::move(stream)) {}

  SinkFactory Sinks() override { return SinksWith(executor_, options_, &own_); }
  void Exchange() override {
    whole_.Add(own_, stream_);
    own_.Add(whole_, stream_);
  }

 private:
  boost::asio::any_io_executor executor_;
  RedisOptions options_;
  StreamTops& whole_;
  std::string stream_;
  StreamTops own_;
};

class RedisKnowledge final : public SinkKnowledge {
 public:
  RedisKnowledge(boost::asio::any_io_executor executor, RedisOptions options)
      : executor_(std::move(executor)), options_(std::move(options)) {}

  SinkFactory Sinks() override {
    return SinksWith(executor_, options_, &tops_);
  }
  std::unique_ptr<TopicKnowledge> Of(std::string topic) override {
    return std::make_unique<RedisStreamKnowledge>(executor_, options_, tops_,
                                                  std::move(topic));
  }

  const std::string& topics() const override { return tops_.text(); }
  void SetTopics(std::string_view text) override { tops_.Add(text); }
  const std::string& replaced_topic() const override {
    return tops_.replaced();
  }
  void Forget() override { tops_.Forget(); }

 private:
  boost::asio::any_io_executor executor_;
  RedisOptions options_;
  StreamTops tops_;
};

}  // namespace

absl::Status CheckRedisOptions(const RedisOptions& options) {
  const int ways = static_cast<int>(!options.address.empty()) +
                   static_cast<int>(!options.sentinels.empty()) +
                   static_cast<int>(!options.cluster.empty());
  if (ways != 1) {
    return absl::InvalidArgumentError(
        ways == 0 ? "redis.address is missing: how to reach Redis, as in "
                    "127.0.0.1:6379; or redis.sentinels and redis.master; or "
                    "redis.cluster"
                  : "redis.address, redis.sentinels and redis.cluster exclude "
                    "each other");
  }
  if (!options.cluster.empty() && options.database != 0) {
    return absl::InvalidArgumentError(
        "redis.database: a Redis Cluster has only database 0: remove it");
  }
  for (const std::string& node : options.cluster) {
    WALPOST_RETURN_IF_ERROR(ParseNodePlace(node).status());
  }
  if (!options.address.empty()) {
    WALPOST_RETURN_IF_ERROR(ParseRedisPlace(options.address).status());
  } else if (!options.sentinels.empty() && options.master.empty()) {
    return absl::InvalidArgumentError(
        "redis.master is missing: the name that the Sentinels have for the "
        "servers, as in mymaster");
  }
  for (const std::string& sentinel : options.sentinels) {
    WALPOST_RETURN_IF_ERROR(ParseSentinelPlace(sentinel).status());
  }
  if (!options.user.empty() && options.password.empty()) {
    return absl::InvalidArgumentError(
        "redis.user needs redis.password, as in ${env:REDIS_PASSWORD}");
  }
  return absl::OkStatus();
}

SinkFactory RedisSinks(boost::asio::any_io_executor executor,
                       RedisOptions options) {
  return SinksWith(std::move(executor), std::move(options), nullptr);
}

std::unique_ptr<SinkKnowledge> MakeRedisKnowledge(
    boost::asio::any_io_executor executor, RedisOptions options) {
  return std::make_unique<RedisKnowledge>(std::move(executor),
                                          std::move(options));
}

}  // namespace walpost
