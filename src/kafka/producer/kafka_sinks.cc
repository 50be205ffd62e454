#include "kafka/producer/kafka_sinks.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/finding_id.h"
#include "kafka/client/new_client.h"
#include "kafka/producer/cluster_state.h"
#include "kafka/producer/producer.h"
#include "kafka/producer/producer_properties.h"

namespace walpost {
namespace {

SinkFactory SinksWith(boost::asio::any_io_executor executor,
                      ProducerOptions kafka, ClusterState* state) {
  return [=](const SinkOptions& options, RecordReports& reports,
             std::function<void()> on_drained)
             -> absl::StatusOr<std::unique_ptr<Sink>> {
    ProducerOptions own = kafka;
    own.client_id += options.client_id_suffix;
    own.transactional_id = options.transactional_id;
    own.one_at_a_time = options.one_at_a_time;
    // In front, so that the user's own value overrides it.
    if (options.topic_patience) {
      own.properties.emplace(own.properties.begin(),
                             "topic.metadata.propagation.max.ms",
                             std::to_string(options.topic_patience->count()));
    }
    return Producer::Create(executor, own, reports, std::move(on_drained),
                            state);
  };
}

class KafkaTopicKnowledge final : public TopicKnowledge {
 public:
  KafkaTopicKnowledge(boost::asio::any_io_executor executor,
                      ProducerOptions kafka, ClusterState& whole,
                      std::string topic)
      : executor_(std::move(executor)),
        kafka_(std::move(kafka)),
        whole_(whole),
        topic_(std::move(topic)) {}

  SinkFactory Sinks() override { return SinksWith(executor_, kafka_, &own_); }
  void Exchange() override {
    whole_.offsets.Of(topic_).Add(own_.offsets.Of(topic_));
    own_.offsets.Of(topic_).Add(whole_.offsets.Of(topic_));
  }

 private:
  boost::asio::any_io_executor executor_;
  ProducerOptions kafka_;
  ClusterState& whole_;
  std::string topic_;
  ClusterState own_;
};

class KafkaKnowledge final : public SinkKnowledge {
 public:
  KafkaKnowledge(boost::asio::any_io_executor executor, ProducerOptions kafka)
      : executor_(std::move(executor)), kafka_(std::move(kafka)) {}

  SinkFactory Sinks() override { return SinksWith(executor_, kafka_, &state_); }
  std::unique_ptr<TopicKnowledge> Of(std::string topic) override {
    return std::make_unique<KafkaTopicKnowledge>(executor_, kafka_, state_,
                                                 std::move(topic));
  }

  const std::string& topics() const override { return state_.topics.text(); }
  void SetTopics(std::string_view text) override { state_.topics.Reset(text); }
  const std::string& replaced_topic() const override {
    return state_.topics.replaced();
  }
  void Forget() override { state_.Forget(); }

 private:
  boost::asio::any_io_executor executor_;
  ProducerOptions kafka_;
  ClusterState state_;
};

}  // namespace

absl::Status CheckKafkaOptions(const ProducerOptions& kafka) {
  const FindingId id(kFindingKafkaPropertyInvalid);
  absl::StatusOr<KafkaConf> conf = MakeProducerConf(kafka);
  if (!conf.ok()) return WithFindingId(conf.status(), id);
  // The mechanism of SASL is judged when a client is made. This one knows no
  // broker, and opens no file of TLS, which another machine may have.
  rd_kafka_conf_set_log_cb(conf->get(), nullptr);
  const auto set = [&conf](const char* name, const char* value) {
    rd_kafka_conf_set(conf->get(), name, value, nullptr, 0);
  };
  set("bootstrap.servers", "");
  if (!kafka.token_command.empty()) set("sasl.mechanisms", "OAUTHBEARER");
  char protocol[32] = "";
  size_t size = sizeof(protocol);
  rd_kafka_conf_get(conf->get(), "security.protocol", protocol, &size);
  const bool has_sasl = std::string_view(protocol).starts_with("sasl");
  set("security.protocol", has_sasl ? "sasl_plaintext" : "plaintext");
  const auto client = NewKafkaClient(RD_KAFKA_PRODUCER, *std::move(conf), {});
  if (client.ok()) {
    rd_kafka_destroy(*client);
    return absl::OkStatus();
  }
  return WithFindingId(client.status(), id);
}

SinkFactory KafkaSinks(boost::asio::any_io_executor executor,
                       ProducerOptions kafka) {
  return SinksWith(std::move(executor), std::move(kafka), nullptr);
}

std::unique_ptr<SinkKnowledge> MakeKafkaKnowledge(
    boost::asio::any_io_executor executor, ProducerOptions kafka) {
  return std::make_unique<KafkaKnowledge>(std::move(executor),
                                          std::move(kafka));
}

}  // namespace walpost
