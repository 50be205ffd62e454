#include "kafka/client/admin_request.h"

#include <algorithm>
#include <array>

namespace walpost {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

using KafkaTopicCollection =
    KafkaHandle<rd_kafka_TopicCollection_t, rd_kafka_TopicCollection_destroy>;
using KafkaConfigResource =
    KafkaHandle<rd_kafka_ConfigResource_t, rd_kafka_ConfigResource_destroy>;
using KafkaPartitionList = KafkaHandle<rd_kafka_topic_partition_list_t,
                                       rd_kafka_topic_partition_list_destroy>;
using KafkaError = KafkaHandle<rd_kafka_error_t, rd_kafka_error_destroy>;

// How long the first question waits; each further one twice as long.
constexpr milliseconds kFirstLimit{2'000};
constexpr milliseconds kMetadataLimit{1'000};
constexpr milliseconds kPollTime{100};

int Millis(MonotonicTime::duration duration) {
  const auto millis = std::chrono::ceil<milliseconds>(duration).count();
  return static_cast<int>(std::max<int64_t>(millis, 1));
}

// Some brokers name no controller (proxies). Then any of them is asked.
void RefreshMetadata(rd_kafka_t* client, AdminRequest& request,
                     milliseconds limit) {
  const rd_kafka_metadata_t* metadata = nullptr;
  if (rd_kafka_metadata(client, /*all_topics=*/0, /*only_rkt=*/nullptr,
                        &metadata,
                        Millis(limit)) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    if (metadata->broker_cnt > 0 && rd_kafka_controllerid(client, 0) < 0) {
      request.To(metadata->brokers[0].id);
    }
    rd_kafka_metadata_destroy(metadata);
  }
}

std::string IdOf(const rd_kafka_TopicDescription_t* topic) {
  const rd_kafka_Uuid_t* id = rd_kafka_TopicDescription_topic_id(topic);
  const bool is_zero =
      id == nullptr || (rd_kafka_Uuid_most_significant_bits(id) == 0 &&
                        rd_kafka_Uuid_least_significant_bits(id) == 0);
  return is_zero ? "" : rd_kafka_Uuid_base64str(id);
}

bool IsAnswer(rd_kafka_event_t* event, rd_kafka_event_type_t type) {
  return rd_kafka_event_type(event) == type &&
         rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t QueryOffset(rd_kafka_t* client, const std::string& topic,
                                int32_t partition, rd_kafka_OffsetSpec_t which,
                                int timeout_millis, int64_t& offset) {
  const KafkaQueue queue(rd_kafka_queue_new(client));
  AdminRequest(client, queue.get())
      .Within(milliseconds(timeout_millis))
      .ListOffsets({{topic, partition}}, which,
                   RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED);
  const KafkaEvent event(rd_kafka_queue_poll(queue.get(), timeout_millis));
  const rd_kafka_resp_err_t failed = ErrorOfAnswer(event);
  // The client knows no leader yet: the topic is new.
  if (failed == RD_KAFKA_RESP_ERR__NOENT) return RD_KAFKA_RESP_ERR__TIMED_OUT;
  if (failed != RD_KAFKA_RESP_ERR_NO_ERROR) return failed;
  const std::vector<ListedOffset> listed = ListedOffsets(event.get());
  if (listed.empty()) return RD_KAFKA_RESP_ERR__TIMED_OUT;
  offset = listed[0].offset;
  return listed[0].error;
}

}  // namespace

AdminRequest::AdminRequest(rd_kafka_t* client, rd_kafka_queue_t* answers)
    : client_(client),
      answers_(answers),
      options_(rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_ANY)) {}

AdminRequest& AdminRequest::Within(milliseconds limit) {
  const int millis = static_cast<int>(limit.count());
  rd_kafka_AdminOptions_set_request_timeout(options_.get(), millis, nullptr, 0);
  return *this;
}

AdminRequest& AdminRequest::To(int32_t node) {
  rd_kafka_AdminOptions_set_broker(options_.get(), node, nullptr, 0);
  return *this;
}

AdminRequest& AdminRequest::Creating(milliseconds limit) {
  const int millis = static_cast<int>(limit.count());
  rd_kafka_AdminOptions_set_operation_timeout(options_.get(), millis, nullptr,
                                              0);
  return *this;
}

AdminRequest& AdminRequest::Marked(void* mark) {
  rd_kafka_AdminOptions_set_opaque(options_.get(), mark);
  return *this;
}

void AdminRequest::DescribeTopics(const std::vector<std::string>& topics,
                                  Rights rights) {
  std::vector<const char*> names;
  names.reserve(topics.size());
  for (const std::string& topic : topics) names.push_back(topic.c_str());
  const KafkaTopicCollection collection(
      rd_kafka_TopicCollection_of_topic_names(names.data(), names.size()));
  const KafkaError unset(
      rd_kafka_AdminOptions_set_include_authorized_operations(
          options_.get(), rights == Rights::kInclude ? 1 : 0));
  rd_kafka_DescribeTopics(client_, collection.get(), options_.get(), answers_);
}

void AdminRequest::ListOffsets(const TopicPartitions& partitions,
                               rd_kafka_OffsetSpec_t which,
                               rd_kafka_IsolationLevel_t isolation) {
  const KafkaPartitionList asked(
      rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
  for (const auto& [topic, partition] : partitions) {
    rd_kafka_topic_partition_list_add(asked.get(), topic.c_str(), partition)
        ->offset = which;
  }
  const KafkaError unset(
      rd_kafka_AdminOptions_set_isolation_level(options_.get(), isolation));
  rd_kafka_ListOffsets(client_, asked.get(), options_.get(), answers_);
}

void AdminRequest::CreateTopics(std::span<const KafkaNewTopic> topics,
                                Creation creation) {
  std::vector<rd_kafka_NewTopic_t*> wanted;
  for (const KafkaNewTopic& topic : topics) wanted.push_back(topic.get());
  rd_kafka_AdminOptions_set_validate_only(
      options_.get(), creation == Creation::kValidate ? 1 : 0, nullptr, 0);
  rd_kafka_CreateTopics(client_, wanted.data(), wanted.size(), options_.get(),
                        answers_);
}

void AdminRequest::DescribeSettings(rd_kafka_ResourceType_t type,
                                    const std::string& name) {
  const KafkaConfigResource resource(
      rd_kafka_ConfigResource_new(type, name.c_str()));
  std::array<rd_kafka_ConfigResource_t*, 1> resources = {resource.get()};
  rd_kafka_DescribeConfigs(client_, resources.data(), resources.size(),
                           options_.get(), answers_);
}

absl::StatusOr<KafkaNewTopic> MakeNewTopic(const std::string& topic,
                                           const TopicCreation& creation) {
  char reason[512] = {};
  KafkaNewTopic made(rd_kafka_NewTopic_new(topic.c_str(), creation.partitions,
                                           creation.replication_factor, reason,
                                           sizeof(reason)));
  if (made == nullptr) return absl::InvalidArgumentError(reason);
  for (const auto& [name, value] : creation.config) {
    rd_kafka_NewTopic_set_config(made.get(), name.c_str(), value.c_str());
  }
  return made;
}

std::vector<DescribedTopic> DescribedTopics(rd_kafka_event_t* event) {
  std::vector<DescribedTopic> described;
  if (!IsAnswer(event, RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT)) return described;
  size_t count = 0;
  const auto** topics = rd_kafka_DescribeTopics_result_topics(
      rd_kafka_event_DescribeTopics_result(event), &count);
  for (size_t i = 0; i < count; ++i) {
    const rd_kafka_TopicDescription_t* topic = topics[i];
    DescribedTopic its{
        rd_kafka_TopicDescription_name(topic),
        rd_kafka_error_code(rd_kafka_TopicDescription_error(topic)),
        IdOf(topic),
        0,
        {}};
    rd_kafka_TopicDescription_partitions(topic, &its.partitions);
    size_t rights = 0;
    const rd_kafka_AclOperation_t* operations =
        rd_kafka_TopicDescription_authorized_operations(topic, &rights);
    if (operations != nullptr) {
      its.operations.insert(operations, operations + rights);
    }
    described.push_back(std::move(its));
  }
  return described;
}

std::vector<ListedOffset> ListedOffsets(rd_kafka_event_t* event) {
  std::vector<ListedOffset> offsets;
  if (!IsAnswer(event, RD_KAFKA_EVENT_LISTOFFSETS_RESULT)) return offsets;
  size_t count = 0;
  const auto** infos = rd_kafka_ListOffsets_result_infos(
      rd_kafka_event_ListOffsets_result(event), &count);
  for (size_t i = 0; i < count; ++i) {
    const rd_kafka_topic_partition_t* listed =
        rd_kafka_ListOffsetsResultInfo_topic_partition(infos[i]);
    // librdkafka (2.15) sets no error for a partition whose leader has not
    // answered: it has no offset.
    const bool has_no_answer =
        listed->err == RD_KAFKA_RESP_ERR_NO_ERROR && listed->offset < 0;
    offsets.push_back(
        {listed->topic, listed->partition,
         has_no_answer ? RD_KAFKA_RESP_ERR__TIMED_OUT : listed->err,
         listed->offset});
  }
  return offsets;
}

std::vector<CreatedTopic> CreatedTopics(rd_kafka_event_t* event) {
  std::vector<CreatedTopic> created;
  if (!IsAnswer(event, RD_KAFKA_EVENT_CREATETOPICS_RESULT)) return created;
  size_t count = 0;
  const auto** results = rd_kafka_CreateTopics_result_topics(
      rd_kafka_event_CreateTopics_result(event), &count);
  for (size_t i = 0; i < count; ++i) {
    const rd_kafka_resp_err_t error = rd_kafka_topic_result_error(results[i]);
    const char* detail = rd_kafka_topic_result_error_string(results[i]);
    created.push_back({rd_kafka_topic_result_name(results[i]), error,
                       detail == nullptr ? rd_kafka_err2str(error) : detail});
  }
  return created;
}

DescribedSettings SettingsOf(rd_kafka_event_t* event) {
  DescribedSettings settings{rd_kafka_event_error(event)};
  if (!IsAnswer(event, RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT)) return settings;
  size_t count = 0;
  const auto** resources = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event), &count);
  if (count == 0) return settings;
  settings.error = rd_kafka_ConfigResource_error(resources[0]);
  const auto** entries = rd_kafka_ConfigResource_configs(resources[0], &count);
  for (size_t i = 0; i < count; ++i) {
    const char* value = rd_kafka_ConfigEntry_value(entries[i]);
    if (value == nullptr) continue;
    settings.values[rd_kafka_ConfigEntry_name(entries[i])] = value;
  }
  return settings;
}

KafkaEvent AskController(rd_kafka_t* client, MonotonicTime deadline,
                         const std::function<void(AdminRequest&)>& ask,
                         const std::stop_token& stop) {
  const KafkaQueue answers(rd_kafka_queue_new(client));
  AdminRequest request(client, answers.get());
  if (rd_kafka_controllerid(client, 0) < 0) {
    RefreshMetadata(client, request, kMetadataLimit);
  }
  for (milliseconds limit = kFirstLimit;; limit *= 2) {
    const MonotonicTime until =
        std::min<MonotonicTime>(deadline, Clock::now() + limit);
    request.Within(milliseconds(Millis(until - Clock::now())));
    ask(request);
    KafkaEvent event;
    // The client says itself that the time is up.
    while (event == nullptr && !stop.stop_requested() &&
           Clock::now() < deadline) {
      event.reset(rd_kafka_queue_poll(answers.get(), Millis(kPollTime)));
    }
    if (event == nullptr) return nullptr;
    const bool is_late =
        rd_kafka_event_error(event.get()) == RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (!is_late) return event;
    const MonotonicTime::duration left = deadline - Clock::now();
    if (left <= kPollTime) return nullptr;
    RefreshMetadata(client, request,
                    std::min(kMetadataLimit,
                             std::chrono::duration_cast<milliseconds>(left)));
  }
}

std::map<std::string, std::string> DescribeSettings(
    rd_kafka_t* client, rd_kafka_ResourceType_t type, const std::string& name,
    int timeout_millis) {
  const KafkaEvent event = AskController(
      client, AfterMillis(timeout_millis),
      [&](AdminRequest& request) { request.DescribeSettings(type, name); });
  return event == nullptr ? DescribedSettings().values
                          : SettingsOf(event.get()).values;
}

rd_kafka_resp_err_t QueryLogRange(rd_kafka_t* client, const std::string& topic,
                                  int32_t partition, int timeout_millis,
                                  LogRange& range) {
  const rd_kafka_resp_err_t failed =
      QueryOffset(client, topic, partition, RD_KAFKA_OFFSET_SPEC_EARLIEST,
                  timeout_millis, range.begin);
  if (failed != RD_KAFKA_RESP_ERR_NO_ERROR) return failed;
  return QueryOffset(client, topic, partition, RD_KAFKA_OFFSET_SPEC_LATEST,
                     timeout_millis, range.end);
}

}  // namespace walpost
