#include "kafka/topics/log_range.h"

#include <chrono>

#include "kafka/client/listed_offset.h"

namespace walpost {
namespace {

rd_kafka_resp_err_t QueryOffset(rd_kafka_t* client, const std::string& topic,
                                int partition, rd_kafka_OffsetSpec_t which,
                                int timeout_millis, int64_t& offset) {
  const KafkaPartitionList asked(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(asked.get(), topic.c_str(), partition)
      ->offset = which;
  const KafkaAdminOptions options =
      ListOffsetsOptions(client, RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED,
                         std::chrono::milliseconds(timeout_millis));
  const KafkaQueue queue(rd_kafka_queue_new(client));
  rd_kafka_ListOffsets(client, asked.get(), options.get(), queue.get());
  const KafkaEvent event(rd_kafka_queue_poll(queue.get(), timeout_millis));
  if (event == nullptr) return RD_KAFKA_RESP_ERR__TIMED_OUT;
  const rd_kafka_resp_err_t failed = rd_kafka_event_error(event.get());
  // The client knows no leader yet: the topic is new.
  if (failed == RD_KAFKA_RESP_ERR__NOENT) return RD_KAFKA_RESP_ERR__TIMED_OUT;
  if (failed != RD_KAFKA_RESP_ERR_NO_ERROR) return failed;
  size_t count = 0;
  const auto** infos = rd_kafka_ListOffsets_result_infos(
      rd_kafka_event_ListOffsets_result(event.get()), &count);
  if (count == 0) return RD_KAFKA_RESP_ERR__TIMED_OUT;
  const rd_kafka_topic_partition_t* found =
      rd_kafka_ListOffsetsResultInfo_topic_partition(infos[0]);
  offset = found->offset;
  return ErrorOfListed(*found);
}

}  // namespace

rd_kafka_resp_err_t QueryLogRange(rd_kafka_t* client, const std::string& topic,
                                  int partition, int timeout_millis,
                                  LogRange& range) {
  const rd_kafka_resp_err_t failed =
      QueryOffset(client, topic, partition, RD_KAFKA_OFFSET_SPEC_EARLIEST,
                  timeout_millis, range.begin);
  if (failed != RD_KAFKA_RESP_ERR_NO_ERROR) return failed;
  return QueryOffset(client, topic, partition, RD_KAFKA_OFFSET_SPEC_LATEST,
                     timeout_millis, range.end);
}

}  // namespace walpost
