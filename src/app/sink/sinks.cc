#include "app/sink/sinks.h"

#include <chrono>
#include <utility>

#include "app/sink/checked_topics.h"
#include "kafka/checkpoint/read_topic_record.h"
#include "kafka/checks/cluster_check.h"
#include "kafka/producer/kafka_sinks.h"

namespace walpost {

namespace asio = boost::asio;

absl::Status RequireSink(const Config& config) {
  if (!config.kafka.brokers.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "kafka.brokers is missing: how to reach Kafka, as in 127.0.0.1:9092");
}

absl::Status CheckSinkOptions(const Config& config) {
  return CheckKafkaOptions(config.kafka);
}

SinkFactory MakeSinks(asio::any_io_executor executor, const Config& config) {
  return KafkaSinks(std::move(executor), config.kafka);
}

std::unique_ptr<SinkKnowledge> MakeSinkKnowledge(asio::any_io_executor executor,
                                                 const Config& config) {
  return MakeKafkaKnowledge(std::move(executor), config.kafka);
}

RecordReader MakeRecordReader(const Config& config) {
  return
      [kafka = config.kafka](const TopicRecord& record, std::stop_token stop) {
        return ReadTopicRecord(kafka, record, std::move(stop));
      };
}

absl::StatusOr<SinkFindings> CheckSink(
    const Config& config, const std::vector<Route>& routes,
    const std::optional<TransactionalIds>& transactional_ids) {
  const CheckpointOptions& checkpoint = config.checkpoint;
  return CheckCluster(config.kafka, CheckedTopics(config, routes),
                      checkpoint.is_in_kafka() ? checkpoint.topic : "",
                      transactional_ids, std::chrono::seconds(5));
}

absl::StatusOr<std::map<std::string, std::string>> FindTopicIds(
    const Config& config, const std::set<std::string>& topics) {
  return FindTopicIds(config.kafka, topics, std::chrono::seconds(10));
}

}  // namespace walpost
