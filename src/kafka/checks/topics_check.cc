#include "kafka/checks/topics_check.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_join.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr rd_kafka_AclOperation_t kWrite = RD_KAFKA_ACL_OPERATION_WRITE;
constexpr rd_kafka_AclOperation_t kRead = RD_KAFKA_ACL_OPERATION_READ;
constexpr rd_kafka_AclOperation_t kDescribe = RD_KAFKA_ACL_OPERATION_DESCRIBE;
constexpr rd_kafka_AclOperation_t kDescribeConfigs =
    RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS;

// The command that grants `operations`, as spelled in its manual.
std::string Grant(const KafkaUser& user, const TopicNames& names,
                  const std::vector<std::string>& operations) {
  std::string command = GrantTo(user);
  for (const std::string& operation : operations) {
    command += fmt::format(" --operation {}", operation);
  }
  command += fmt::format(" --topic '{}'", names.text);
  if (!names.is_whole) command += " --resource-pattern-type prefixed";
  return command;
}

class TopicsCheck {
 public:
  TopicsCheck(const TopicFacts& facts, const KafkaUser& user)
      : facts_(facts),
        user_(user),
        subject_(facts.names.is_whole
                     ? fmt::format("topic {}", facts.names.text)
                     : fmt::format("topics {}*", facts.names.text)) {}

  Findings Run() {
    if (facts_.names.text.empty()) {
      Add(Severity::kNote, FindingId("topics_not_tested"),
          fmt::format("{} are seen; which of them events go to is in the rows, "
                      "so the rights on them are not tested",
                      facts_.topics.size()));
    } else if (facts_.topics.empty()) {
      CheckNone();
    } else {
      CheckOthers();
      CheckRights();
    }
    return std::move(findings_);
  }

 private:
  void Add(Severity severity, FindingId id, std::string text,
           std::string remedy = "") {
    findings_.push_back({severity, std::move(id), subject_, std::move(text),
                         std::move(remedy)});
  }

  std::string GrantAll(std::vector<std::string> operations) const {
    return Grant(user_, facts_.names, operations);
  }

  void CheckNone() {
    if (IsForbidden(facts_.describe_error)) {
      std::vector<std::string> operations = {"Write", "Describe"};
      if (facts_.can_be_created()) operations.push_back("Create");
      return Add(Severity::kError, FindingId("topic_forbidden"),
                 "may not be seen or written: the rights DESCRIBE and WRITE "
                 "are missing",
                 GrantAll(operations));
    }
    if (!facts_.can_be_created()) {
      const std::string create = fmt::format(
          "kafka-topics.sh --bootstrap-server {} --create --topic {}",
          user_.brokers,
          facts_.names.is_whole ? std::string_view(facts_.names.text) : "NAME");
      return Add(Severity::kWarning, FindingId("topic_missing"),
                 "none exists, and the brokers create none: events wait",
                 facts_.names.is_whole
                     ? create
                     : fmt::format("set create_topics, and walpost creates "
                                   "them; or, for each topic that events go "
                                   "to: {}",
                                   create));
    }
    if (IsForbidden(facts_.create_error)) {
      return Add(Severity::kError, FindingId("topic_create_forbidden"),
                 "none exists, and none may be created: the right CREATE is "
                 "missing",
                 GrantAll({"Write", "Describe", "Create"}));
    }
    AddCreation();
  }

  void CheckOthers() {
    if (facts_.names.is_whole)
      return Add(Severity::kOk, FindingId("topic_ok"), "exists");
    if (facts_.can_be_created() && !IsForbidden(facts_.create_error)) {
      return AddCreation();
    }
    Add(Severity::kOk, FindingId("topics_not_created"),
        fmt::format("{} exist; {} create no others: events of a new topic wait "
                    "until it exists",
                    facts_.topics.size(),
                    facts_.can_be_created()
                        ? "without the right CREATE the brokers"
                        : "the brokers"));
  }

  // Without any topic no event can be sent.
  void AddRefusal() {
    Add(facts_.topics.empty() ? Severity::kError : Severity::kWarning,
        FindingId("topic_creation_refused"),
        fmt::format("{} exist; the brokers would not create {} {}: {}",
                    facts_.topics.size(),
                    facts_.topics.empty() ? "any" : "others",
                    facts_.names.creation ? "as create_topics says"
                                          : "with their own defaults",
                    facts_.create_refusal),
        facts_.names.creation
            ? "correct create_topics, or create the topics by hand"
            : "set create_topics, or create the topics by hand");
  }

  void AddCreation() {
    if (!facts_.create_refusal.empty()) return AddRefusal();
    if (facts_.names.creation) {
      return Add(Severity::kOk, FindingId("topics_created_by_walpost"),
                 fmt::format("{} exist; walpost creates others "
                             "(create_topics)",
                             facts_.topics.size()));
    }
    Add(Severity::kNote, FindingId("topics_created_by_brokers"),
        fmt::format("{} exist; the brokers create others with their own "
                    "defaults (num.partitions, default.replication.factor)",
                    facts_.topics.size()),
        "set create_topics, or create them beforehand, to choose partitions "
        "and replicas");
  }

  // With a prefix, some topics may belong to another program.
  void CheckRights() {
    std::vector<std::string> unwritable;
    std::vector<std::string> unreadable;
    for (const auto& [topic, rights] : facts_.topics) {
      if (!rights.has(kWrite)) unwritable.push_back(topic);
      if (!rights.has(kRead)) unreadable.push_back(topic);
    }
    if (!unwritable.empty()) {
      const bool is_all = unwritable.size() == facts_.topics.size();
      Add(is_all ? Severity::kError : Severity::kWarning,
          FindingId("topic_not_writable"),
          fmt::format(
              "may not be written ({}): the right WRITE is missing, and "
              "their events wait",
              Several(unwritable)),
          is_all ? GrantAll({"Write", "Describe"})
                 : Grant(user_, {unwritable.front(), true},
                         {"Write", "Describe"}));
    } else if (!unreadable.empty()) {
      Add(Severity::kNote, FindingId("topic_not_readable"),
          fmt::format("may not be read ({}), which walpost verify -c FILE and "
                      "recover need",
                      Several(unreadable)),
          GrantAll({"Read"}));
    }
  }

  static std::string Several(const std::vector<std::string>& topics) {
    if (topics.size() == 1) return topics.front();
    return fmt::format("{} and {} more", topics.front(), topics.size() - 1);
  }

  const TopicFacts& facts_;
  const KafkaUser& user_;
  std::string subject_;
  Findings findings_;
};

}  // namespace

Findings CheckTopics(const TopicFacts& facts, const KafkaUser& user) {
  return TopicsCheck(facts, user).Run();
}

Findings CheckShape(const TopicShape& shape, const TopicCreation& wanted,
                    const KafkaUser& user) {
  const std::string subject = fmt::format("topic {}", shape.topic);
  Findings findings;
  const auto differs = [&](FindingId id, std::string_view what,
                           std::string_view is, std::string_view should_be,
                           std::string remedy) {
    findings.push_back({Severity::kWarning, std::move(id), subject,
                        fmt::format("has {}={}, and create_topics says {}",
                                    what, is, should_be),
                        std::move(remedy)});
  };
  if (wanted.partitions > 0 && wanted.partitions != shape.partitions) {
    differs(FindingId("topic_partitions_differ"), "partitions",
            std::to_string(shape.partitions), std::to_string(wanted.partitions),
            "more partitions move keys: change it only while nothing is sent, "
            "or correct create_topics");
  }
  if (wanted.replication_factor > 0 &&
      wanted.replication_factor != shape.replication_factor) {
    differs(FindingId("topic_replicas_differ"), "replicas",
            std::to_string(shape.replication_factor),
            std::to_string(wanted.replication_factor),
            "kafka-reassign-partitions.sh, or correct create_topics");
  }
  for (const auto& [name, value] : wanted.config) {
    const auto found = shape.settings.find(name);
    if (found == shape.settings.end() || found->second == value) continue;
    differs(FindingId("topic_setting_differs"), name, found->second, value,
            fmt::format("kafka-configs.sh --bootstrap-server {} --alter "
                        "--entity-type topics --entity-name {} --add-config "
                        "{}={}",
                        user.brokers, shape.topic, name, value));
  }
  return findings;
}

Findings CheckCheckpointTopic(const std::string& topic,
                              const TopicRights& rights,
                              rd_kafka_resp_err_t create_error,
                              const KafkaUser& user) {
  const std::string subject = fmt::format("checkpoint.topic {}", topic);
  const TopicNames name{topic, true};
  std::vector<std::string> missing;
  if (rights.error == RD_KAFKA_RESP_ERR_NO_ERROR) {
    for (const auto& [operation, text] : {
             std::pair(kDescribe, "Describe"),
             std::pair(kDescribeConfigs, "DescribeConfigs"),
             std::pair(kRead, "Read"),
             std::pair(kWrite, "Write"),
         }) {
      if (!rights.has(operation)) missing.emplace_back(text);
    }
    if (missing.empty()) {
      return {{Severity::kOk, FindingId("checkpoint_topic_ok"), subject,
               "may be read and written", ""}};
    }
  } else if (IsForbidden(rights.error) || IsForbidden(create_error)) {
    missing = {"Describe", "DescribeConfigs", "Read", "Write", "Create"};
  } else {
    return {{Severity::kNote, FindingId("checkpoint_topic_missing"), subject,
             "does not exist; run will create it", ""}};
  }
  const bool runs = missing == std::vector<std::string>{"DescribeConfigs"};
  return {{runs ? Severity::kWarning : Severity::kError,
           FindingId("checkpoint_topic_rights_missing"), subject,
           fmt::format("lacks rights: {}", absl::StrJoin(missing, ", ")),
           Grant(user, name, missing)}};
}

Finding BrokerSettingsUnknown(const KafkaUser& user) {
  return {Severity::kNote, FindingId("broker_settings_hidden"),
          "settings of the brokers",
          "may not be seen, so message.max.bytes and "
          "auto.create.topics.enable are not tested: the right "
          "DESCRIBE_CONFIGS on the cluster is missing",
          GrantTo(user) + " --operation DescribeConfigs --cluster"};
}

}  // namespace walpost
