#include "kafka/topics/topic_rights.h"

#include <utility>
#include <vector>

#include "kafka/client/admin_request.h"
#include "kafka/client/kafka_status.h"

namespace walpost {
namespace {

// A policy of the brokers may be about the name, which is not that of a topic.
bool IsOfSettings(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_INVALID_PARTITIONS ||
         error == RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR ||
         error == RD_KAFKA_RESP_ERR_INVALID_CONFIG;
}

// A controller rejects a whole request that would make it write more than
// 10,000 records: one for each topic, partition and setting. The brokers'
// default number of partitions is not known here.
constexpr size_t kMaxMetadataRecords = 5'000;
constexpr size_t kAssumedPartitions = 100;

size_t MetadataRecordsOf(const std::optional<TopicCreation>& creation) {
  const TopicCreation wanted = creation.value_or(TopicCreation());
  const size_t partitions =
      wanted.partitions > 0 ? wanted.partitions : kAssumedPartitions;
  return 1 + partitions + wanted.config.size();
}

std::map<std::string, CreationAnswer> TryPortion(rd_kafka_t* client,
                                                 const TopicCreations& portion,
                                                 int timeout_millis) {
  std::map<std::string, CreationAnswer> answers;
  std::vector<KafkaNewTopic> topics;
  for (const auto& [topic, creation] : portion) {
    absl::StatusOr<KafkaNewTopic> made =
        MakeNewTopic(topic, creation.value_or(TopicCreation()));
    if (made.ok()) {
      topics.push_back(*std::move(made));
    } else {
      answers[topic] = {RD_KAFKA_RESP_ERR__INVALID_ARG,
                        std::string(made.status().message())};
    }
  }
  if (topics.empty()) return answers;
  const KafkaEvent event = AskController(
      client, AfterMillis(timeout_millis), [&](AdminRequest& request) {
        request.CreateTopics(topics, AdminRequest::Creation::kValidate);
      });
  rd_kafka_resp_err_t failed = ErrorOfAnswer(event);
  if (failed == RD_KAFKA_RESP_ERR_NO_ERROR) {
    for (const CreatedTopic& its : CreatedTopics(event.get())) {
      answers[its.name] = {its.error,
                           IsOfSettings(its.error) ? its.detail : ""};
    }
    failed = RD_KAFKA_RESP_ERR__FAIL;  // for those without a result
  }
  for (const auto& [topic, creation] : portion) {
    answers.try_emplace(topic, CreationAnswer{failed});
  }
  return answers;
}

}  // namespace

absl::StatusOr<std::map<std::string, TopicRights>> DescribeTopicRights(
    rd_kafka_t* client, const std::set<std::string>& topics,
    int timeout_millis) {
  std::map<std::string, TopicRights> rights;
  if (topics.empty()) return rights;
  const std::vector<std::string> names(topics.begin(), topics.end());
  const KafkaEvent event = AskController(
      client, AfterMillis(timeout_millis), [&](AdminRequest& request) {
        request.DescribeTopics(names, AdminRequest::Rights::kInclude);
      });
  const rd_kafka_resp_err_t failed = ErrorOfAnswer(event);
  if (failed != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return StatusFromKafka(failed, "asking for the rights on topics");
  }
  for (DescribedTopic& its : DescribedTopics(event.get())) {
    const bool exists = its.error == RD_KAFKA_RESP_ERR_NO_ERROR;
    rights[its.name] = {its.error, exists ? its.id : "",
                        std::move(its.operations)};
  }
  return rights;
}

std::map<std::string, CreationAnswer> TryCreateTopics(
    rd_kafka_t* client, const TopicCreations& creations, int timeout_millis) {
  std::map<std::string, CreationAnswer> answers;
  for (auto next = creations.begin(); next != creations.end();) {
    TopicCreations portion;
    for (size_t records = 0; next != creations.end(); ++next) {
      records += MetadataRecordsOf(next->second);
      if (records > kMaxMetadataRecords && !portion.empty()) break;
      portion.insert(*next);
    }
    answers.merge(TryPortion(client, portion, timeout_millis));
  }
  return answers;
}

}  // namespace walpost
