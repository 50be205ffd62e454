#include "kafka/topics/last_stable_offsets.h"

#include <string>

#include "kafka/client/admin_request.h"

namespace walpost {

void LastStableOffsets::OnTick(MonotonicTime now) {
  if (is_asking_ || now - asked_at_ < kAskAgainAfter) return;
  asked_at_ = now;
  TopicPartitions asked;
  size_t index = 0;
  offsets_.ForEach([&](const std::string& topic, int32_t partition, int64_t) {
    if (index >= first_ && index < first_ + kMaxAsked) {
      asked.emplace_back(topic, partition);
    }
    ++index;
  });
  first_ = first_ + kMaxAsked < index ? first_ + kMaxAsked : 0;
  if (asked.empty()) return;
  AdminRequest(client_, queue_)
      .Within(kRequestLimit)
      .ListOffsets(asked, RD_KAFKA_OFFSET_SPEC_LATEST,
                   RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED);
  is_asking_ = true;
}

// A partition without a leader gives an error: nobody reads it anyway.
void LastStableOffsets::OnAnswer(rd_kafka_event_t* event, MonotonicTime now) {
  is_asking_ = false;
  for (const ListedOffset& listed : ListedOffsets(event)) {
    if (listed.error != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    hidden_.Observe({listed.topic, listed.partition}, listed.offset,
                    offsets_.Newest(listed.topic, listed.partition), now);
  }
}

}  // namespace walpost
