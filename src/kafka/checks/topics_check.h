// State of the topics of one route, and what to do about it: for `walpost
// check`. Pure: cluster_check.h asks the brokers.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/finding.h"
#include "base/kafka_user.h"
#include "kafka/topics/topic_rights.h"
#include "outbox/topic_creation.h"

namespace walpost {

// Prefix of the names of a route's topics or of dead letters, or the one whole
// name.
struct TopicNames {
  std::string text;
  bool is_whole = false;
  // True if the topics must keep every record of a key.
  bool are_dead_letters = false;
  // How walpost creates missing topics; nullopt: it does not.
  std::optional<TopicCreation> creation = {};
  // Payloads up to this many bytes are sent whole. 0: all are.
  size_t claim_check_above = 0;

  bool Match(std::string_view topic) const {
    return is_whole ? topic == text : topic.starts_with(text);
  }
};

struct TopicFacts {
  TopicNames names;
  // Topics that the user sees.
  std::map<std::string, TopicRights> topics;
  // For a topic with such a name that the user does not see: errors of
  // describing and of creating it.
  rd_kafka_resp_err_t describe_error = RD_KAFKA_RESP_ERR_NO_ERROR;
  rd_kafka_resp_err_t create_error = RD_KAFKA_RESP_ERR_NO_ERROR;
  // Why the brokers would not create such a topic with its settings; empty:
  // they would, or it is not known.
  std::string create_refusal = {};
  bool brokers_create = false;  // auto.create.topics.enable

  bool can_be_created() const { return brokers_create || names.creation; }
};

Findings CheckTopics(const TopicFacts& facts, const KafkaUser& user);

// An existing topic, compared with how walpost would create it. `settings`: as
// the brokers describe them; empty: not known.
struct TopicShape {
  std::string topic;
  int partitions = 0;
  int replication_factor = 0;
  std::map<std::string, std::string> settings;
};
Findings CheckShape(const TopicShape& shape, const TopicCreation& wanted,
                    const KafkaUser& user);

// The topic of checkpoint.store: kafka, which walpost also reads, and creates
// if it is missing. `create_error` counts if `rights` has an error. Without
// DESCRIBE_CONFIGS walpost runs, but cannot tell whether the topic is
// compacted.
Findings CheckCheckpointTopic(const std::string& topic,
                              const TopicRights& rights,
                              rd_kafka_resp_err_t create_error,
                              const KafkaUser& user);

// The settings of the brokers are hidden: lists the missing tests.
Finding BrokerSettingsUnknown(const KafkaUser& user);

}  // namespace walpost
