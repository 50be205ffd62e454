#include "kafka/producer/topic.h"

#include <chrono>

#include "base/reason_code.h"
#include "fmt/format.h"

namespace walpost {

absl::StatusOr<std::unique_ptr<Topic>> Topic::Create(
    rd_kafka_t* client, const std::string& name, PartitionOffsets& offsets) {
  auto topic = std::make_unique<Topic>(offsets);
  rd_kafka_topic_conf_t* conf = rd_kafka_default_topic_conf_dup(client);
  rd_kafka_topic_conf_set_partitioner_cb(conf, &Topic::Choose);
  rd_kafka_topic_conf_set_opaque(conf, topic.get());
  topic->handle_.reset(rd_kafka_topic_new(client, name.c_str(), conf));
  if (topic->handle_ == nullptr) {
    return absl::InvalidArgumentError(fmt::format(
        "topic '{}': {}", name, rd_kafka_err2str(rd_kafka_last_error())));
  }
  return topic;
}

int32_t Topic::PartitionOf(const Record& record) const {
  if (record.partition) return *record.partition;
  const std::string_view key = *record.key;
  const int32_t count = partitions();
  if (count == 0) return FirstRecordBarrier::kUnassigned;
  return rd_kafka_msg_partitioner_murmur2(handle(), key.data(), key.size(),
                                          count, nullptr, nullptr);
}

absl::Status PartitionMissing(std::string_view topic, int32_t partition) {
  return Undeliverable(
      kReasonPartitionIllegal,
      fmt::format("topic {} has no partition {}", topic, partition));
}

bool Topic::IsPartitionMissing(rd_kafka_t* client, MonotonicTime now) {
  // Partitions may be added at any time.
  constexpr std::chrono::seconds kAskAgainAfter{30};
  constexpr std::chrono::seconds kAnswerWithin{2};
  if (!asked_at_ || now - *asked_at_ > kAskAgainAfter) {
    asked_at_ = now;
    const rd_kafka_metadata_t* metadata = nullptr;
    rd_kafka_metadata(client, /*all_topics=*/0, handle(), &metadata,
                      /*timeout_ms=*/0);
    if (metadata != nullptr) rd_kafka_metadata_destroy(metadata);
  }
  return now - *asked_at_ > kAnswerWithin;
}

int32_t Topic::Choose(const rd_kafka_topic_t* handle, const void* key,
                      size_t key_size, int32_t partitions, void* topic,
                      void* sequence) {
  static_cast<Topic*>(topic)->partitions_.store(partitions,
                                                std::memory_order_relaxed);
  return rd_kafka_msg_partitioner_murmur2_random(handle, key, key_size,
                                                 partitions, topic, sequence);
}

}  // namespace walpost
