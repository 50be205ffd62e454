#include "kafka/cluster_check.h"

#include <librdkafka/rdkafka.h>

#include <cstring>
#include <map>
#include <memory>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "kafka/broker_trouble.h"
#include "kafka/handles.h"
#include "kafka/producer_properties.h"

namespace walpost {
namespace {

class ClusterCheck {
 public:
  ClusterCheck(KafkaClient client, std::chrono::milliseconds timeout)
      : client_(std::move(client)),
        timeout_millis_(static_cast<int>(timeout.count())) {}

  std::vector<Finding> Run(const std::string& brokers,
                           const std::vector<std::string>& topic_prefixes) {
    const rd_kafka_metadata_t* metadata = nullptr;
    const rd_kafka_resp_err_t error = rd_kafka_metadata(
        client_.get(), /*all_topics=*/1, nullptr, &metadata, timeout_millis_);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
      BrokerTrouble trouble;
      NoteEvents(client_.get(), trouble);
      const bool is_known = !trouble.text().empty();
      Add(Severity::kError, fmt::format("Kafka at {}", brokers),
          fmt::format("does not answer: {}",
                      is_known ? trouble.text() : rd_kafka_err2str(error)),
          "correct kafka.brokers, or the listeners and security settings");
      return std::move(findings_);
    }
    Add(Severity::kOk, fmt::format("Kafka at {}", brokers),
        fmt::format("answers; {} broker(s)", metadata->broker_cnt));
    const std::map<std::string, std::string> settings =
        BrokerSettings(metadata->brokers[0].id);
    const bool creates = Get(settings, "auto.create.topics.enable") == "true";
    for (const std::string& prefix : topic_prefixes) {
      CheckTopics(*metadata, prefix, creates);
    }
    CheckSizes(settings);
    rd_kafka_metadata_destroy(metadata);
    return std::move(findings_);
  }

 private:
  void Add(Severity severity, std::string subject, std::string text,
           std::string remedy = "") {
    findings_.push_back(
        {severity, std::move(subject), std::move(text), std::move(remedy)});
  }

  static std::string Get(const std::map<std::string, std::string>& settings,
                         const std::string& name) {
    const auto found = settings.find(name);
    return found == settings.end() ? "" : found->second;
  }

  void CheckTopics(const rd_kafka_metadata_t& metadata,
                   const std::string& prefix, bool brokers_create) {
    int matching = 0;
    for (int i = 0; i < metadata.topic_cnt; ++i) {
      const std::string_view topic = metadata.topics[i].topic;
      if (topic.starts_with(prefix)) ++matching;
    }
    const std::string subject = fmt::format("topics {}*", prefix);
    const std::string text = fmt::format("{} exist", matching);
    if (brokers_create) {
      Add(Severity::kNote, subject,
          text +
              "; the brokers create others with their own defaults "
              "(num.partitions, default.replication.factor)",
          "create them beforehand to choose partitions and replicas");
    } else if (matching == 0) {
      Add(Severity::kWarning, subject,
          "none exists, and the brokers create none: events wait",
          fmt::format("kafka-topics.sh --create --topic {}...", prefix));
    } else {
      Add(Severity::kOk, subject,
          text +
              "; the brokers create no others: events of a new topic wait "
              "until it exists");
    }
  }

  void CheckSizes(const std::map<std::string, std::string>& settings) {
    const std::string broker = Get(settings, "message.max.bytes");
    char ours[32] = {};
    size_t size = sizeof(ours);
    rd_kafka_conf_get(rd_kafka_conf(client_.get()), "message.max.bytes", ours,
                      &size);
    if (broker.empty()) return;
    const bool fits = std::strtoull(ours, nullptr, 10) <=
                      std::strtoull(broker.c_str(), nullptr, 10);
    Add(fits ? Severity::kOk : Severity::kWarning, "message.max.bytes",
        fmt::format("is {} here and {} at the brokers", ours, broker),
        fits ? ""
             : "lower message.max.bytes in kafka.properties to the brokers' "
               "value: what they refuse stops the flow");
  }

  // Empty when the cluster does not say (no right to DESCRIBE_CONFIGS).
  std::map<std::string, std::string> BrokerSettings(int32_t broker) {
    std::map<std::string, std::string> settings;
    const KafkaQueue queue(rd_kafka_queue_new(client_.get()));
    const std::string id = std::to_string(broker);
    const KafkaConfigResource resource(
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, id.c_str()));
    rd_kafka_ConfigResource_t* resources[] = {resource.get()};
    rd_kafka_DescribeConfigs(client_.get(), resources, 1, nullptr, queue.get());
    const KafkaEvent event(rd_kafka_queue_poll(queue.get(), timeout_millis_));
    if (event == nullptr) return settings;
    const auto* result = rd_kafka_event_DescribeConfigs_result(event.get());
    size_t count = 0;
    if (result == nullptr) return settings;
    const auto** described =
        rd_kafka_DescribeConfigs_result_resources(result, &count);
    if (count == 0) return settings;
    const auto** entries =
        rd_kafka_ConfigResource_configs(described[0], &count);
    for (size_t i = 0; i < count; ++i) {
      const char* value = rd_kafka_ConfigEntry_value(entries[i]);
      if (value != nullptr) {
        settings[rd_kafka_ConfigEntry_name(entries[i])] = value;
      }
    }
    return settings;
  }

  KafkaClient client_;
  int timeout_millis_;
  std::vector<Finding> findings_;
};

}  // namespace

absl::StatusOr<std::vector<Finding>> CheckCluster(
    const ProducerOptions& options,
    const std::vector<std::string>& topic_prefixes,
    std::chrono::milliseconds timeout) {
  WALPOST_ASSIGN_OR_RETURN(KafkaConf conf, MakeProducerConf(options));
  char reason[512];
  KafkaClient client(
      rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), reason, sizeof(reason)));
  if (client == nullptr) {
    return absl::FailedPreconditionError(
        fmt::format("kafka.properties: {}", reason));
  }
  conf.release();                                 // librdkafka owns it now
  rd_kafka_set_log_queue(client.get(), nullptr);  // NoteEvents
  return ClusterCheck(std::move(client), timeout)
      .Run(options.brokers, topic_prefixes);
}

}  // namespace walpost
