#include <chrono>
#include <utility>

#include "app/sink/broker.h"
#include "app/sink/checked_topics.h"
#include "app/sink/topic_reader_options.h"
#include "base/status_macros.h"
#include "kafka/checkpoint/compacted_topic.h"
#include "kafka/checks/cluster_check.h"
#include "kafka/producer/kafka_sinks.h"
#include "verify/topic_reader.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

class KafkaBroker final : public Broker {
 public:
  explicit KafkaBroker(const Config& config) : config_(config) {}

  std::string address() const override { return config_.kafka.brokers; }

  absl::Status CheckOptions() const override {
    return CheckKafkaOptions(config_.kafka);
  }

  SinkFactory Sinks(asio::any_io_executor executor) const override {
    return KafkaSinks(std::move(executor), config_.kafka);
  }

  std::unique_ptr<SinkKnowledge> Knowledge(
      asio::any_io_executor executor) const override {
    return MakeKafkaKnowledge(std::move(executor), config_.kafka);
  }

  absl::StatusOr<SinkFindings> Check(
      const std::vector<Route>& routes,
      const std::optional<TransactionalIds>& transactional_ids) const override {
    const CheckpointOptions& checkpoint = config_.checkpoint;
    return CheckCluster(config_.kafka, CheckedTopics(config_, routes),
                        checkpoint.is_in_kafka() ? checkpoint.topic : "",
                        transactional_ids, std::chrono::seconds(5));
  }

  absl::StatusOr<std::string> ClusterId() const override {
    WALPOST_ASSIGN_OR_RETURN(
        const std::unique_ptr<TopicReader> reader,
        TopicReader::Connect(TopicReaderOptionsOf(config_)));
    return reader->ClusterId();
  }

  ConnectToRecords Records() const override {
    return [options = TopicReaderOptionsOf(config_)] {
      return TopicReader::Connect(options);
    };
  }

  RecordReader Reader() const override {
    return [kafka = config_.kafka](const TopicRecord& record,
                                   std::stop_token stop) {
      return ReadTopicRecord(kafka, record, std::move(stop));
    };
  }

  absl::StatusOr<std::map<std::string, std::string>> TopicIds(
      const std::set<std::string>& topics) const override {
    return FindTopicIds(config_.kafka, topics, std::chrono::seconds(10));
  }

 private:
  const Config& config_;
};

}  // namespace

std::unique_ptr<Broker> MakeKafkaBroker(const Config& config) {
  return std::make_unique<KafkaBroker>(config);
}

}  // namespace walpost
