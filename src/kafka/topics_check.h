// How the topics of one route stand, and what to do about it: what `walpost
// check` says. Pure: cluster_check.h asks the brokers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/finding.h"
#include "kafka/topic_rights.h"

namespace walpost {

// What the names of a route's topics begin with, or the whole of the one name.
struct TopicNames {
  std::string text;
  bool is_whole = false;

  bool Match(std::string_view topic) const {
    return is_whole ? topic == text : topic.starts_with(text);
  }
};

// For the commands that are printed.
struct KafkaUser {
  std::string brokers;
  std::string name;  // empty: not known (a certificate's)
};

struct TopicFacts {
  TopicNames names;
  // Those that the user sees.
  std::map<std::string, TopicRights> topics;
  // Of a topic of such a name that the user does not see: whether it could, and
  // whether it might create one.
  rd_kafka_resp_err_t describe_error = RD_KAFKA_RESP_ERR_NO_ERROR;
  rd_kafka_resp_err_t create_error = RD_KAFKA_RESP_ERR_NO_ERROR;
  bool brokers_create = false;  // auto.create.topics.enable
};

std::vector<Finding> CheckTopics(const TopicFacts& facts,
                                 const KafkaUser& user);

// The topic of checkpoint.store: kafka, which walpost reads, too, and creates
// where it is missing. `create_error` counts when `rights` has an error.
// Without DESCRIBE_CONFIGS walpost runs, but cannot tell whether the topic is
// compacted.
std::vector<Finding> CheckCheckpointTopic(const std::string& topic,
                                          const TopicRights& rights,
                                          rd_kafka_resp_err_t create_error,
                                          const KafkaUser& user);

// The settings of the brokers may not be seen: what is not tested then.
Finding BrokerSettingsUnknown(const KafkaUser& user);

}  // namespace walpost
