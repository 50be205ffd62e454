// Questions for offsets of partitions (ListOffsets), and their answers.
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>

#include "kafka/client/handles.h"

namespace walpost {

using KafkaPartitionList = KafkaHandle<rd_kafka_topic_partition_list_t,
                                       rd_kafka_topic_partition_list_destroy>;

inline KafkaAdminOptions ListOffsetsOptions(rd_kafka_t* client,
                                            rd_kafka_IsolationLevel_t isolation,
                                            std::chrono::milliseconds limit) {
  KafkaAdminOptions options(
      rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_LISTOFFSETS));
  rd_kafka_AdminOptions_set_request_timeout(
      options.get(), static_cast<int>(limit.count()), nullptr, 0);
  const KafkaHandle<rd_kafka_error_t, rd_kafka_error_destroy> unset(
      rd_kafka_AdminOptions_set_isolation_level(options.get(), isolation));
  return options;
}

// librdkafka (2.15) sets no error for a partition whose leader has not
// answered: it has no offset.
inline rd_kafka_resp_err_t ErrorOfListed(
    const rd_kafka_topic_partition_t& listed) {
  if (listed.err == RD_KAFKA_RESP_ERR_NO_ERROR && listed.offset < 0) {
    return RD_KAFKA_RESP_ERR__TIMED_OUT;
  }
  return listed.err;
}

}  // namespace walpost
