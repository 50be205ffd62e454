#include "kafka/topics/last_stable_offsets.h"

#include <string>

#include "kafka/client/listed_offset.h"

namespace walpost {

void LastStableOffsets::OnTick(MonotonicTime now) {
  if (is_asking_ || now - asked_at_ < kAskAgainAfter) return;
  asked_at_ = now;
  const KafkaPartitionList asked(rd_kafka_topic_partition_list_new(16));
  size_t index = 0;
  offsets_.ForEach([&](const std::string& topic, int32_t partition, int64_t) {
    if (index >= first_ && index < first_ + kMaxAsked) {
      rd_kafka_topic_partition_list_add(asked.get(), topic.c_str(), partition)
          ->offset = RD_KAFKA_OFFSET_SPEC_LATEST;
    }
    ++index;
  });
  first_ = first_ + kMaxAsked < index ? first_ + kMaxAsked : 0;
  if (asked->cnt == 0) return;
  const KafkaAdminOptions options = ListOffsetsOptions(
      client_, RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED, kRequestLimit);
  rd_kafka_ListOffsets(client_, asked.get(), options.get(), queue_);
  is_asking_ = true;
}

// A partition without a leader gives an error: nobody reads it anyway.
void LastStableOffsets::OnAnswer(rd_kafka_event_t* event, MonotonicTime now) {
  is_asking_ = false;
  if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  size_t count = 0;
  const auto** infos = rd_kafka_ListOffsets_result_infos(
      rd_kafka_event_ListOffsets_result(event), &count);
  for (size_t i = 0; i < count; ++i) {
    const rd_kafka_topic_partition_t* found =
        rd_kafka_ListOffsetsResultInfo_topic_partition(infos[i]);
    if (ErrorOfListed(*found) != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    const std::string topic = found->topic;
    hidden_.Observe({topic, found->partition}, found->offset,
                    offsets_.Newest(topic, found->partition), now);
  }
}

}  // namespace walpost
