// AdminRequest: what the brokers are asked beside records, and their answers.
//
//   AdminRequest(client, queue).Within(10s).Marked(&topic).DescribeTopics(
//       {topic.name});
//   ...
//   for (const DescribedTopic& its : DescribedTopics(event)) ...
//
// The answer comes to the queue as an event, which may be an error. A request
// may be sent again.
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "kafka/client/handles.h"
#include "outbox/topic_creation.h"

namespace walpost {

using TopicPartitions = std::vector<std::pair<std::string, int32_t>>;

class AdminRequest {
 public:
  // Both outlive it.
  AdminRequest(rd_kafka_t* client, rd_kafka_queue_t* answers);

  // Default: the client's socket.timeout.ms.
  AdminRequest& Within(std::chrono::milliseconds limit);
  // Asks that broker; default: the one that the client chooses.
  AdminRequest& To(int32_t node);
  // How long the brokers may take to create topics; default: 60 s.
  AdminRequest& Creating(std::chrono::milliseconds limit);
  // rd_kafka_event_opaque of the answer.
  AdminRequest& Marked(void* mark);

  enum class Rights { kLeaveOut, kInclude };
  void DescribeTopics(const std::vector<std::string>& topics,
                      Rights rights = Rights::kLeaveOut);
  void ListOffsets(const TopicPartitions& partitions,
                   rd_kafka_OffsetSpec_t which,
                   rd_kafka_IsolationLevel_t isolation);
  // kValidate: nothing is created.
  enum class Creation { kCreate, kValidate };
  void CreateTopics(std::span<const KafkaNewTopic> topics, Creation creation);
  void DescribeSettings(rd_kafka_ResourceType_t type, const std::string& name);

 private:
  rd_kafka_t* client_;
  rd_kafka_queue_t* answers_;
  KafkaAdminOptions options_;
};

// kInvalidArgument: librdkafka rejects the name or a number; its words.
absl::StatusOr<KafkaNewTopic> MakeNewTopic(const std::string& topic,
                                           const TopicCreation& creation);

// Answers. Those of an event with an error are empty.

struct DescribedTopic {
  std::string name;
  rd_kafka_resp_err_t error;
  // Changes when the topic is created again. Empty: brokers older than Kafka
  // 2.8 report none.
  std::string id;
  size_t partitions;
  // On an existing topic, for Rights::kInclude; all, if the brokers have no
  // authorizer.
  std::set<rd_kafka_AclOperation_t> operations;
};
std::vector<DescribedTopic> DescribedTopics(rd_kafka_event_t* event);

struct ListedOffset {
  std::string topic;
  int32_t partition;
  rd_kafka_resp_err_t error;
  int64_t offset;
};
std::vector<ListedOffset> ListedOffsets(rd_kafka_event_t* event);

struct CreatedTopic {
  std::string name;
  rd_kafka_resp_err_t error;
  std::string detail;  // the brokers' words
};
std::vector<CreatedTopic> CreatedTopics(rd_kafka_event_t* event);

struct DescribedSettings {
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  std::map<std::string, std::string> values = {};
};
DescribedSettings SettingsOf(rd_kafka_event_t* event);

// Blocking questions.

inline MonotonicTime AfterMillis(int millis) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(millis);
}

// nullptr: there was no answer in time.
inline rd_kafka_resp_err_t ErrorOfAnswer(const KafkaEvent& event) {
  return event == nullptr ? RD_KAFKA_RESP_ERR__TIMED_OUT
                          : rd_kafka_event_error(event.get());
}

// Asks the controller, and asks again: the one that a client knows of may be a
// broker that is gone. With KRaft the brokers name any of them, until they have
// noticed. The question then waits for it; the next metadata name another.
//
// Returns the answer; nullptr: there was none until `deadline`, or until it was
// to stop. `ask` is called once or more: a question that changes something may
// be carried out twice.
KafkaEvent AskController(rd_kafka_t* client, MonotonicTime deadline,
                         const std::function<void(AdminRequest&)>& ask,
                         const std::stop_token& stop = {});

// Settings of a topic or a broker. Empty: not known: no answer, or no right
// DESCRIBE_CONFIGS.
std::map<std::string, std::string> DescribeSettings(
    rd_kafka_t* client, rd_kafka_ResourceType_t type, const std::string& name,
    int timeout_millis);

// Offsets between which the log of a partition lies.
struct LogRange {
  int64_t begin = 0;
  int64_t end = 0;  // behind the last record, committed or not
};

// rd_kafka_query_watermark_offsets would ask for the committed end: an open
// transaction hides committed records behind it. Blocks for up to
// `timeout_millis` per end.
rd_kafka_resp_err_t QueryLogRange(rd_kafka_t* client, const std::string& topic,
                                  int32_t partition, int timeout_millis,
                                  LogRange& range);

}  // namespace walpost
