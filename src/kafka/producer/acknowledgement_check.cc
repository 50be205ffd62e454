#include "kafka/producer/acknowledgement_check.h"

#include <cstdint>
#include <string>

#include "base/reason_code.h"
#include "delivery/gap.h"
#include "fmt/format.h"
#include "kafka/producer/topic.h"
#include "log/log.h"

namespace walpost {
namespace {

absl::Status TopicReplaced(const std::string& evidence) {
  return WithReasonCode(
      absl::FailedPreconditionError(fmt::format(
          "{}: the topic was deleted and created again, or its records were "
          "lost, and events that were published are not in Kafka any more; {}",
          evidence, kRecover)),
      kGapKafkaReplaced);
}

}  // namespace

absl::Status CheckOffset(const rd_kafka_message_t& message,
                         PartitionOffsets& offsets) {
  const int64_t newest = offsets.Advance(message.partition, message.offset);
  if (newest < 0) return absl::OkStatus();
  return TopicReplaced(
      fmt::format("topic {}: partition {} gave offset {} to a new record, and "
                  "had given {} before",
                  rd_kafka_topic_name(message.rkt), message.partition,
                  message.offset, newest));
}

absl::Status AcknowledgementCheck::Check(const rd_kafka_message_t& message) {
  const char* name = rd_kafka_topic_name(message.rkt);
  is_distrusted_ |= message.offset < 0;
  if (is_distrusted_) {
    return absl::AbortedError(fmt::format(
        "delivering {} bytes to topic {}: librdkafka takes a record for "
        "acknowledged that has no offset",
        message.len, name));
  }
  const auto sequence = reinterpret_cast<Sequence>(message._private);
  if (sequence == kNoEvent) return absl::OkStatus();
  Topic& topic = Topic::Of(message);
  const int32_t count = topic.partitions();
  const int32_t before = topic.offsets().SetCount(count);
  if (before > count) {
    return TopicReplaced(fmt::format("topic {} has {} partitions, and had {}",
                                     name, count, before));
  }
  if (before > 0) {
    LogWarn(
        {{"topic", name}},
        "topic {} has {} partitions now, and had {}: keys that move to another "
        "partition are not in order with their earlier records",
        name, count, before);
  }
  return CheckOffset(message, topic.offsets());
}

}  // namespace walpost
