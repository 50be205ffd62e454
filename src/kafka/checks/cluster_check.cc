#include "kafka/checks/cluster_check.h"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/kafka_cluster.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "kafka/checkpoint/compacted_topic.h"
#include "kafka/checks/silent_brokers.h"
#include "kafka/checks/transactions_check.h"
#include "kafka/checks/transactions_probe.h"
#include "kafka/client/admin_request.h"
#include "kafka/client/connection_diagnosis.h"
#include "kafka/client/new_client.h"
#include "kafka/producer/producer_properties.h"
#include "kafka/topics/topic_rights.h"

namespace walpost {
namespace {

using Probe = ProbedId::Probe;

// Name after a configured prefix for a topic that does not exist.
constexpr char kProbe[] = "walpost-check";
constexpr size_t kMaxProbedPrefix = 200;
// Topics that are compared with create_topics and claim_check_above.
constexpr size_t kMaxShapes = 100;
// Brokers whose settings are compared, for transactions.
constexpr int kMaxBrokers = 100;
// Transactional ids of stored events that are probed.
constexpr size_t kMaxSenders = 100;
constexpr char kBrokerAddressUnreachable[] = "broker_address_unreachable";
constexpr char kTransactionLog[] = "__transaction_state";

class ClusterCheck {
 public:
  ClusterCheck(KafkaClient client, const ProducerOptions& options,
               KafkaUser user, std::chrono::milliseconds timeout)
      : client_(std::move(client)),
        options_(options),
        user_(std::move(user)),
        timeout_millis_(static_cast<int>(timeout.count())) {}

  absl::StatusOr<SinkFindings> Run(
      const std::vector<TopicNames>& topics,
      const std::string& checkpoint_topic,
      const std::optional<TransactionalIds>& transactional_ids) {
    const std::string subject = fmt::format("Kafka at {}", user_.brokers);
    const rd_kafka_metadata_t* listed = nullptr;
    const rd_kafka_resp_err_t error = rd_kafka_metadata(
        client_.get(), /*all_topics=*/1, nullptr, &listed, timeout_millis_);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
      AddUnreached(subject, error);
      return SinkFindings{std::move(findings_), false, "", {}};
    }
    const KafkaHandle<const rd_kafka_metadata_t, rd_kafka_metadata_destroy>
        metadata(listed);
    Add(Severity::kOk, FindingId("kafka_ok"), subject,
        fmt::format("answers; {} broker(s)", metadata->broker_cnt));
    CheckTokenSecrecy();
    if (!CheckAddresses(*metadata)) {
      return SinkFindings{std::move(findings_), false, ClusterId(), {}};
    }
    const std::map<std::string, std::string> settings = Settings(
        RD_KAFKA_RESOURCE_BROKER, std::to_string(metadata->brokers[0].id));
    // Without the right, nothing is known; brokers create topics by default.
    const std::string creates = Get(settings, "auto.create.topics.enable");
    WALPOST_RETURN_IF_ERROR(
        CheckTopicsOfAll(*metadata, topics, creates != "false"));
    WALPOST_RETURN_IF_ERROR(CheckCheckpoint(checkpoint_topic));
    if (transactional_ids) {
      WALPOST_RETURN_IF_ERROR(
          CheckTransactionsOf(*metadata, *transactional_ids));
    }
    CheckSizes(settings);
    std::string cluster = ClusterId();
    CheckEvidence(subject, cluster);
    return SinkFindings{std::move(findings_), true, std::move(cluster),
                        std::move(topic_ids_)};
  }

 private:
  // Says what cannot be noticed with these brokers.
  void CheckEvidence(const std::string& subject, const std::string& cluster) {
    const bool has_ids = std::ranges::any_of(
        topic_ids_, [](const auto& topic) { return !topic.second.empty(); });
    if (cluster == kUnnamedCluster) {
      Add(Severity::kNote, FindingId("cluster_id_unknown"), subject,
          "reports no cluster id: if kafka.brokers lead to another cluster one "
          "day, walpost does not notice that the events before are not there",
          "after such a change: walpost verify -c FILE");
    }
    if (!topic_ids_.empty() && !has_ids) {
      Add(Severity::kNote, FindingId("topic_ids_unknown"), subject,
          "reports no topic ids: walpost does not notice a topic that was "
          "deleted and created again",
          "after such a change: walpost verify -c FILE");
    }
  }

  std::string ClusterId() {
    char* raw = rd_kafka_clusterid(client_.get(), 0);  // they have answered
    if (raw == nullptr) return kUnnamedCluster;
    std::string id = raw;
    rd_kafka_mem_free(client_.get(), raw);
    return id;
  }

  void Add(Severity severity, FindingId id, std::string subject,
           std::string text, std::string remedy = "") {
    findings_.push_back({severity, std::move(id), std::move(subject),
                         std::move(text), std::move(remedy)});
  }

  void AddUnreached(const std::string& subject, rd_kafka_resp_err_t error) {
    ConnectionDiagnosis trouble(user_.brokers);
    NoteEvents(client_.get(), trouble);
    if (!trouble.unreachable().empty()) {
      return Add(Severity::kError, FindingId(kBrokerAddressUnreachable),
                 subject, std::string(trouble.unreachable()),
                 std::string(kCorrectAdvertised));
    }
    const std::string cause =
        trouble.cause().empty() ? rd_kafka_err2str(error) : trouble.cause();
    const bool is_of_login = trouble.is_of_credentials();
    Add(Severity::kError,
        FindingId(is_of_login ? kFindingCredentialsRejected
                              : kFindingKafkaUnavailable),
        subject,
        fmt::format("{}: {}", is_of_login ? "login failed" : "does not answer",
                    cause),
        std::string(trouble.remedy().empty() ? ConnectionDiagnosis::kUsualAdvice
                                             : trouble.remedy()));
  }

  // False: a broker cannot be reached at the address that it gives. What is
  // asked then may have no answer, whatever the rights.
  bool CheckAddresses(const rd_kafka_metadata_t& metadata) {
    const int count = std::min(metadata.broker_cnt, kMaxBrokers);
    const std::set<int32_t> silent = FindSilentBrokers(
        client_.get(), metadata.brokers, count, timeout_millis_);
    if (silent.empty()) return true;
    ConnectionDiagnosis trouble(user_.brokers);
    NoteEvents(client_.get(), trouble);
    for (int i = 0; i < count; ++i) {
      const rd_kafka_metadata_broker_t& broker = metadata.brokers[i];
      if (!silent.contains(broker.id)) continue;
      std::string reason = trouble.WhyUnreachable(broker.id);
      std::string_view remedy = kCorrectAdvertised;
      if (reason.empty() && !trouble.remedy().empty()) {
        reason = trouble.cause();
        remedy = trouble.remedy();
      } else if (reason.empty()) {
        reason = fmt::format("no answer within {} s", timeout_millis_ / 1000);
      }
      Add(Severity::kError, FindingId(kBrokerAddressUnreachable),
          fmt::format("Kafka at {}", user_.brokers),
          DescribeUnreachable(broker.id,
                              fmt::format("{}:{}", broker.host, broker.port),
                              reason),
          std::string(remedy));
    }
    return false;
  }

  static std::string Get(const std::map<std::string, std::string>& settings,
                         const std::string& name) {
    const auto found = settings.find(name);
    return found == settings.end() ? "" : found->second;
  }

  // Rights are asked for by name: the list of all topics omits topics that the
  // user may not see. All are asked for at once: there may be thousands.
  absl::Status CheckTopicsOfAll(const rd_kafka_metadata_t& metadata,
                                const std::vector<TopicNames>& all,
                                bool brokers_create) {
    std::set<std::string> asked;
    for (const TopicNames& names : all) {
      for (int i = 0; i < metadata.topic_cnt; ++i) {
        const char* topic = metadata.topics[i].topic;
        if (names.Match(topic)) asked.insert(topic);
      }
      asked.insert(UnseenTopic(names));
    }
    WALPOST_ASSIGN_OR_RETURN(
        const auto rights,
        DescribeTopicRights(client_.get(), asked, timeout_millis_));
    std::vector<TopicFacts> facts;
    TopicCreations creations;
    for (const TopicNames& names : all) {
      facts.push_back(FactsOf(names, rights));
      facts.back().brokers_create = brokers_create;
      const std::string unseen = UnseenTopic(names);
      if (facts.back().can_be_created() &&
          !facts.back().topics.contains(unseen)) {
        creations.try_emplace(unseen, names.creation);
      }
    }
    const auto answers =
        TryCreateTopics(client_.get(), creations, timeout_millis_);
    for (TopicFacts& its : facts) {
      const auto answer = answers.find(UnseenTopic(its.names));
      if (answer != answers.end()) {
        its.create_error = answer->second.error;
        its.create_refusal = answer->second.refusal;
      }
      CheckTopicsOf(metadata, its);
    }
    return absl::OkStatus();
  }

  // A topic with such a name that the list of all need not have.
  static std::string UnseenTopic(const TopicNames& names) {
    return names.is_whole ? names.text
                          : names.text.substr(0, kMaxProbedPrefix) + kProbe;
  }

  TopicFacts FactsOf(const TopicNames& names,
                     const std::map<std::string, TopicRights>& rights) {
    TopicFacts facts;
    facts.names = names;
    const std::string unseen = UnseenTopic(names);
    for (const auto& [topic, its] : rights) {
      if (topic != unseen && !names.Match(topic)) continue;
      if (its.error == RD_KAFKA_RESP_ERR_NO_ERROR) {
        facts.topics.emplace(topic, its);
        topic_ids_[topic] = its.id;
      } else if (topic == unseen) {
        facts.describe_error = its.error;
      }
    }
    return facts;
  }

  void CheckTopicsOf(const rd_kafka_metadata_t& metadata,
                     const TopicFacts& facts) {
    Append(CheckTopics(facts, user_));
    if (facts.names.creation) CheckShapes(metadata, facts);
    if (facts.names.claim_check_above > 0) CheckClaimChecks(facts);
    if (!facts.names.are_dead_letters) return;
    for (const auto& [topic, its] : facts.topics) CheckKeepsAll(topic);
  }

  void CheckShapes(const rd_kafka_metadata_t& metadata,
                   const TopicFacts& facts) {
    size_t looked_at = 0;
    for (const auto& [topic, its] : facts.topics) {
      if (++looked_at > kMaxShapes) break;
      TopicShape shape = ShapeOf(metadata, topic);
      if (!facts.names.creation->config.empty()) {
        shape.settings = Settings(RD_KAFKA_RESOURCE_TOPIC, topic);
      }
      Append(CheckShape(shape, *facts.names.creation, user_));
    }
    if (looked_at <= kMaxShapes) return;
    Add(Severity::kNote, FindingId("topics_not_compared"), "create_topics",
        fmt::format("only {} of {} topics were compared with it", kMaxShapes,
                    facts.topics.size()));
  }

  // Payloads that are sent whole must fit.
  void CheckClaimChecks(const TopicFacts& facts) {
    const size_t above = facts.names.claim_check_above;
    const auto check = [&](const std::string& subject, const std::string& most,
                           std::string_view limit) {
      if (most.empty() || above < std::strtoull(most.c_str(), nullptr, 10)) {
        return;
      }
      Add(Severity::kWarning, FindingId("claim_check_above_limit"), subject,
          fmt::format("{} is {}, and payloads up to {} bytes are sent whole",
                      limit, most, above),
          fmt::format("set outbox.tables.claim_check_above well below {}, so "
                      "that headers also fit",
                      most));
    };
    check("claim_check_above", OwnLimit(), "message.max.bytes here");
    size_t looked_at = 0;
    for (const auto& [topic, its] : facts.topics) {
      if (++looked_at > kMaxShapes) break;
      check(fmt::format("topic {}", topic),
            Get(Settings(RD_KAFKA_RESOURCE_TOPIC, topic), "max.message.bytes"),
            "max.message.bytes");
    }
  }

  std::string OwnLimit() { return OwnProperty("message.max.bytes"); }

  std::string OwnProperty(const char* name) {
    char text[32] = {};
    size_t size = sizeof(text);
    rd_kafka_conf_get(rd_kafka_conf(client_.get()), name, text, &size);
    return text;
  }

  void CheckTokenSecrecy() {
    if (options_.token_command.empty() ||
        OwnProperty("security.protocol") != "sasl_plaintext") {
      return;
    }
    Add(Severity::kWarning, FindingId("token_without_tls"),
        "kafka.token_command",
        "sends its tokens without encryption: anyone who reads one can use it "
        "until it expires",
        "set security.protocol to SASL_SSL in kafka.properties");
  }

  // Without its settings.
  static TopicShape ShapeOf(const rd_kafka_metadata_t& metadata,
                            const std::string& name) {
    TopicShape shape;
    shape.topic = name;
    for (int i = 0; i < metadata.topic_cnt; ++i) {
      const rd_kafka_metadata_topic_t& topic = metadata.topics[i];
      if (topic.topic != name || topic.partition_cnt == 0) continue;
      shape.partitions = topic.partition_cnt;
      shape.replication_factor = topic.partitions[0].replica_cnt;
    }
    return shape;
  }

  // Without the right DESCRIBE_CONFIGS, nothing is known.
  void CheckKeepsAll(const std::string& topic) {
    const std::string policy =
        Get(Settings(RD_KAFKA_RESOURCE_TOPIC, topic), "cleanup.policy");
    if (policy.find("compact") == std::string::npos) return;
    Add(Severity::kError, FindingId("dead_letter_topic_compacted"),
        fmt::format("topic {}", topic),
        fmt::format("has cleanup.policy={}: the next dead letter of a key "
                    "removes the earlier ones",
                    policy),
        fmt::format("kafka-configs.sh --bootstrap-server {} --alter "
                    "--entity-type topics --entity-name {} --add-config "
                    "cleanup.policy=delete",
                    user_.brokers, topic));
  }

  absl::Status CheckCheckpoint(const std::string& topic) {
    if (topic.empty()) return absl::OkStatus();
    WALPOST_ASSIGN_OR_RETURN(
        auto rights,
        DescribeTopicRights(client_.get(), {topic}, timeout_millis_));
    rd_kafka_resp_err_t create_error = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (rights[topic].error != RD_KAFKA_RESP_ERR_NO_ERROR) {
      create_error = TryCreateTopics(client_.get(), {{topic, std::nullopt}},
                                     timeout_millis_)[topic]
                         .error;
    }
    Append(CheckCheckpointTopic(topic, rights[topic], create_error, user_));
    const std::string policy =
        Get(Settings(RD_KAFKA_RESOURCE_TOPIC, topic), "cleanup.policy");
    const absl::Status is_compacted =
        RequireCompaction(topic, policy, user_.brokers);
    if (!is_compacted.ok()) {
      Add(Severity::kError, FindingId("checkpoint_topic_not_compacted"),
          "checkpoint.topic", std::string(is_compacted.message()));
    }
    return absl::OkStatus();
  }

  absl::Status CheckTransactionsOf(const rd_kafka_metadata_t& metadata,
                                   const TransactionalIds& ids) {
    TransactionFacts facts;
    facts.relay.id = ids.relay;
    for (const std::string& id : ids.senders) facts.senders.push_back({id});
    facts.timeout = options_.transaction_timeout;
    facts.brokers = static_cast<size_t>(metadata.broker_cnt);
    const int count = std::min(metadata.broker_cnt, kMaxBrokers);
    for (int i = 0; i < count; ++i) {
      facts.settings.push_back(Settings(
          RD_KAFKA_RESOURCE_BROKER, std::to_string(metadata.brokers[i].id)));
    }
    facts.log_replicas = ShapeOf(metadata, kTransactionLog).replication_factor;
    if (facts.can_probe()) WALPOST_RETURN_IF_ERROR(ProbeAll(facts));
    Append(CheckTransactions(facts, user_));
    return absl::OkStatus();
  }

  absl::Status ProbeAll(TransactionFacts& facts) {
    const std::chrono::milliseconds limit(timeout_millis_);
    WALPOST_RETURN_IF_ERROR(ProbeTransactionalId(options_, limit, facts.relay));
    bool is_answered = facts.relay.probe != Probe::kNoAnswer;
    const size_t count = std::min(facts.senders.size(), kMaxSenders);
    for (size_t i = 0; i < count && is_answered; ++i) {
      ProbedId& sender = facts.senders[i];
      WALPOST_RETURN_IF_ERROR(ProbeTransactionalId(options_, limit, sender));
      is_answered = sender.probe != Probe::kNoAnswer;
    }
    return absl::OkStatus();
  }

  void Append(const Findings& findings) {
    findings_.insert(findings_.end(), findings.begin(), findings.end());
  }

  void CheckSizes(const std::map<std::string, std::string>& settings) {
    const std::string broker = Get(settings, "message.max.bytes");
    const std::string ours = OwnLimit();
    if (broker.empty())
      return findings_.push_back(BrokerSettingsUnknown(user_));
    const bool fits = std::strtoull(ours.c_str(), nullptr, 10) <=
                      std::strtoull(broker.c_str(), nullptr, 10);
    Add(fits ? Severity::kOk : Severity::kWarning,
        FindingId(fits ? "message_max_bytes_ok"
                       : "message_max_bytes_too_large"),
        "message.max.bytes",
        fmt::format("is {} here and {} at the brokers", ours, broker),
        fits ? ""
             : "lower message.max.bytes in kafka.properties to the brokers' "
               "value: what they refuse stops the flow");
  }

  std::map<std::string, std::string> Settings(rd_kafka_ResourceType_t type,
                                              const std::string& name) {
    return DescribeSettings(client_.get(), type, name, timeout_millis_);
  }

  KafkaClient client_;
  const ProducerOptions& options_;
  KafkaUser user_;
  int timeout_millis_;
  Findings findings_;
  std::map<std::string, std::string> topic_ids_;
};

constexpr const char* kSetupLimit = "socket.connection.setup.timeout.ms";

// A broker that is silent is reported before the whole check gives up. Empty:
// kafka.properties has a limit.
std::string SetupLimit(const ProducerOptions& options,
                       std::chrono::milliseconds timeout) {
  const bool is_set = std::ranges::any_of(
      options.properties,
      [](const auto& property) { return property.first == kSetupLimit; });
  return is_set ? "" : std::to_string(timeout.count() * 3 / 5);
}

absl::StatusOr<KafkaClient> MakeClient(const ProducerOptions& options,
                                       const std::string& setup_limit = "") {
  WALPOST_ASSIGN_OR_RETURN(KafkaConf conf, MakeProducerConf(options));
  if (!setup_limit.empty()) {
    rd_kafka_conf_set(conf.get(), kSetupLimit, setup_limit.c_str(), nullptr, 0);
  }
  WALPOST_ASSIGN_OR_RETURN(rd_kafka_t * made,
                           NewKafkaClient(RD_KAFKA_PRODUCER, std::move(conf),
                                          options.token_command));
  KafkaClient client(made);
  rd_kafka_set_log_queue(client.get(), nullptr);  // NoteEvents
  AwaitToken(client.get());
  return client;
}

}  // namespace

absl::StatusOr<SinkFindings> CheckCluster(
    const ProducerOptions& options, const std::vector<TopicNames>& topics,
    const std::string& checkpoint_topic,
    const std::optional<TransactionalIds>& transactional_ids,
    std::chrono::milliseconds timeout) {
  absl::StatusOr<KafkaClient> client =
      MakeClient(options, SetupLimit(options, timeout));
  if (!client.ok()) {
    return WithFindingId(client.status(),
                         FindingId(kFindingKafkaPropertyInvalid));
  }
  KafkaUser user = KafkaUserOf(options.brokers, options.properties);
  return ClusterCheck(*std::move(client), options, std::move(user), timeout)
      .Run(topics, checkpoint_topic, transactional_ids);
}

absl::StatusOr<std::map<std::string, std::string>> FindTopicIds(
    const ProducerOptions& options, const std::set<std::string>& topics,
    std::chrono::milliseconds timeout) {
  WALPOST_ASSIGN_OR_RETURN(KafkaClient client, MakeClient(options));
  WALPOST_ASSIGN_OR_RETURN(
      auto found, DescribeTopicRights(client.get(), topics,
                                      static_cast<int>(timeout.count())));
  std::map<std::string, std::string> ids;
  for (const auto& [topic, its] : found) {
    if (!its.id.empty()) ids.emplace(topic, its.id);
  }
  return ids;
}

}  // namespace walpost
