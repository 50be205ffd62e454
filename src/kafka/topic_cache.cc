#include "kafka/topic_cache.h"

#include "fmt/format.h"

namespace walpost {

absl::StatusOr<rd_kafka_topic_t*> TopicCache::Get(std::string_view name) {
  const auto found = topics_.find(name);
  if (found != topics_.end()) return found->second.get();
  if (topics_.size() >= kMostTopics) {
    return absl::InvalidArgumentError(fmt::format(
        "topic '{}' would be number {}: does route.topic make topics of a "
        "column with too many values?",
        name, kMostTopics + 1));
  }
  const std::string text(name);
  rd_kafka_topic_t* topic = rd_kafka_topic_new(client_, text.c_str(), nullptr);
  if (topic == nullptr) {
    return absl::InvalidArgumentError(fmt::format(
        "topic '{}': {}", name, rd_kafka_err2str(rd_kafka_last_error())));
  }
  topics_.try_emplace(text, topic);
  return topic;
}

}  // namespace walpost
