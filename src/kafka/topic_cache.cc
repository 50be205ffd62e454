#include "kafka/topic_cache.h"

#include "fmt/format.h"

namespace walpost {

int32_t Topic::PartitionOf(std::string_view key) const {
  const int32_t count = partitions();
  if (count == 0) return PartitionStarts::kUnassigned;
  return rd_kafka_msg_partitioner_murmur2(handle(), key.data(), key.size(),
                                          count, nullptr, nullptr);
}

int32_t Topic::Choose(const rd_kafka_topic_t* handle, const void* key,
                      size_t key_size, int32_t partitions, void* topic,
                      void* sequence) {
  static_cast<Topic*>(topic)->partitions_.store(partitions,
                                                std::memory_order_relaxed);
  return rd_kafka_msg_partitioner_murmur2_random(handle, key, key_size,
                                                 partitions, topic, sequence);
}

void TopicCache::Close() {
  for (auto& [name, topic] : topics_) topic->handle_.reset();
}

absl::StatusOr<Topic*> TopicCache::Get(std::string_view name) {
  const auto found = topics_.find(name);
  if (found != topics_.end()) return found->second.get();
  if (topics_.size() >= kMostTopics) {
    return absl::InvalidArgumentError(fmt::format(
        "topic '{}' would be number {}: does route.topic make topics of a "
        "column with too many values?",
        name, kMostTopics + 1));
  }
  auto topic = std::make_unique<Topic>();
  rd_kafka_topic_conf_t* conf = rd_kafka_default_topic_conf_dup(client_);
  rd_kafka_topic_conf_set_partitioner_cb(conf, &Topic::Choose);
  rd_kafka_topic_conf_set_opaque(conf, topic.get());
  const std::string text(name);
  topic->handle_.reset(rd_kafka_topic_new(client_, text.c_str(), conf));
  if (topic->handle_ == nullptr) {
    return absl::InvalidArgumentError(fmt::format(
        "topic '{}': {}", name, rd_kafka_err2str(rd_kafka_last_error())));
  }
  return topics_.try_emplace(text, std::move(topic)).first->second.get();
}

}  // namespace walpost
