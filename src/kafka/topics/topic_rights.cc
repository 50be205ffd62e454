#include "kafka/topics/topic_rights.h"

#include <utility>

#include "kafka/client/admin_question.h"
#include "kafka/client/kafka_status.h"
#include "kafka/topics/described_topic.h"
#include "kafka/topics/new_topic.h"

namespace walpost {
namespace {

TopicRights ToRights(const rd_kafka_TopicDescription_t* description) {
  TopicRights rights;
  const rd_kafka_error_t* error = rd_kafka_TopicDescription_error(description);
  if (error != nullptr) rights.error = rd_kafka_error_code(error);
  if (error == nullptr) rights.id = IdOf(description);
  size_t count = 0;
  const rd_kafka_AclOperation_t* operations =
      rd_kafka_TopicDescription_authorized_operations(description, &count);
  if (operations != nullptr) {
    rights.operations.insert(operations, operations + count);
  }
  return rights;
}

// A policy of the brokers may be about the name, which is not that of a topic.
bool IsOfSettings(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_INVALID_PARTITIONS ||
         error == RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR ||
         error == RD_KAFKA_RESP_ERR_INVALID_CONFIG;
}

CreationAnswer AnswerOf(const rd_kafka_topic_result_t* result) {
  CreationAnswer answer{rd_kafka_topic_result_error(result)};
  if (!IsOfSettings(answer.error)) return answer;
  const char* text = rd_kafka_topic_result_error_string(result);
  answer.refusal = text == nullptr ? rd_kafka_err2str(answer.error) : text;
  return answer;
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
  std::vector<KafkaNewTopic> owned;
  std::vector<rd_kafka_NewTopic_t*> topics;
  for (const auto& [topic, creation] : portion) {
    std::string reason;
    KafkaNewTopic made =
        MakeNewTopic(topic, creation.value_or(TopicCreation()), reason);
    if (made == nullptr) {
      answers[topic] = {RD_KAFKA_RESP_ERR__INVALID_ARG, reason};
      continue;
    }
    topics.push_back(made.get());
    owned.push_back(std::move(made));
  }
  if (topics.empty()) return answers;
  const auto ask = [&](rd_kafka_t* asked, rd_kafka_AdminOptions_t* options,
                       rd_kafka_queue_t* queue) {
    rd_kafka_AdminOptions_set_validate_only(options, 1, nullptr, 0);
    rd_kafka_CreateTopics(asked, topics.data(), topics.size(), options, queue);
  };
  const KafkaEvent event =
      AskController(client, AfterMillis(timeout_millis), ask);
  rd_kafka_resp_err_t failed = event == nullptr
                                   ? RD_KAFKA_RESP_ERR__TIMED_OUT
                                   : rd_kafka_event_error(event.get());
  if (failed == RD_KAFKA_RESP_ERR_NO_ERROR) {
    size_t count = 0;
    const auto** results = rd_kafka_CreateTopics_result_topics(
        rd_kafka_event_CreateTopics_result(event.get()), &count);
    for (size_t i = 0; i < count; ++i) {
      answers[rd_kafka_topic_result_name(results[i])] = AnswerOf(results[i]);
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
  std::vector<const char*> names;
  for (const std::string& topic : topics) names.push_back(topic.c_str());
  const KafkaTopicCollection collection(
      rd_kafka_TopicCollection_of_topic_names(names.data(), names.size()));
  const auto ask = [&](rd_kafka_t* asked, rd_kafka_AdminOptions_t* options,
                       rd_kafka_queue_t* answers) {
    rd_kafka_AdminOptions_set_include_authorized_operations(options, 1);
    rd_kafka_DescribeTopics(asked, collection.get(), options, answers);
  };
  const KafkaEvent event =
      AskController(client, AfterMillis(timeout_millis), ask);
  const rd_kafka_resp_err_t failed = event == nullptr
                                         ? RD_KAFKA_RESP_ERR__TIMED_OUT
                                         : rd_kafka_event_error(event.get());
  if (failed != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return StatusFromKafka(failed, "asking for the rights on topics");
  }
  size_t count = 0;
  const auto** found = rd_kafka_DescribeTopics_result_topics(
      rd_kafka_event_DescribeTopics_result(event.get()), &count);
  for (size_t i = 0; i < count; ++i) {
    rights[rd_kafka_TopicDescription_name(found[i])] = ToRights(found[i]);
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
