// Rights of a client's user on topics, as the brokers report them.
#pragma once

#include <librdkafka/rdkafka.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "outbox/topic_creation.h"

namespace walpost {

struct TopicRights {
  // UNKNOWN_TOPIC_OR_PART: the user may see it, but it does not exist.
  // TOPIC_AUTHORIZATION_FAILED: the user may not know whether it exists.
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::string id;  // empty: it does not exist, or the brokers report none
  // On an existing topic; all, if the brokers have no authorizer.
  std::set<rd_kafka_AclOperation_t> operations;

  bool has(rd_kafka_AclOperation_t operation) const {
    return operations.contains(operation);
  }
};

// Topic -> rights. Creates no topic. Blocks for up to `timeout_millis`;
// kUnavailable: no answer.
absl::StatusOr<std::map<std::string, TopicRights>> DescribeTopicRights(
    rd_kafka_t* client, const std::set<std::string>& topics,
    int timeout_millis);

// The brokers' answer to the creation of a topic; it is not created.
struct CreationAnswer {
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  // In the brokers' words, if they refuse the settings; else empty.
  std::string refusal = {};
};
// Topic -> how it is to be created; nullopt: with the brokers' defaults.
using TopicCreations = std::map<std::string, std::optional<TopicCreation>>;
// An answer for each topic. Asks for some dozens of topics at a time, and
// blocks for up to `timeout_millis` each time.
std::map<std::string, CreationAnswer> TryCreateTopics(
    rd_kafka_t* client, const TopicCreations& creations, int timeout_millis);

inline bool IsForbidden(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
         error == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
}

}  // namespace walpost
