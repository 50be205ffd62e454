// Answers to DescribeTopics.
#pragma once

#include <librdkafka/rdkafka.h>

#include <span>
#include <string>

namespace walpost {

inline std::span<const rd_kafka_TopicDescription_t*> DescribedTopics(
    rd_kafka_event_t* event) {
  size_t count = 0;
  const auto topics = rd_kafka_DescribeTopics_result_topics(
      rd_kafka_event_DescribeTopics_result(event), &count);
  return {topics, count};
}

inline rd_kafka_resp_err_t ErrorOf(const rd_kafka_TopicDescription_t* topic) {
  return rd_kafka_error_code(rd_kafka_TopicDescription_error(topic));
}

// Id of the topic, which changes when the topic is created again. Empty:
// brokers older than Kafka 2.8 report none.
inline std::string IdOf(const rd_kafka_TopicDescription_t* topic) {
  const rd_kafka_Uuid_t* id = rd_kafka_TopicDescription_topic_id(topic);
  const bool is_zero =
      id == nullptr || (rd_kafka_Uuid_most_significant_bits(id) == 0 &&
                        rd_kafka_Uuid_least_significant_bits(id) == 0);
  return is_zero ? "" : rd_kafka_Uuid_base64str(id);
}

}  // namespace walpost
