#include "app/sink/sinks.h"

#include <utility>

#include "kafka/checkpoint/read_topic_record.h"
#include "kafka/producer/kafka_sinks.h"

namespace walpost {

namespace asio = boost::asio;

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

}  // namespace walpost
