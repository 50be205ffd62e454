#include "kafka/checks/silent_brokers.h"

#include <algorithm>
#include <iterator>

#include "kafka/client/admin_question.h"
#include "kafka/client/handles.h"

namespace walpost {
namespace {

// Whatever a broker says about it is an answer.
constexpr const char* kAnyTopic = "walpost-check";

// The client's own errors about a broker that it does not reach, or gives up
// because the others do not name it any more.
constexpr rd_kafka_resp_err_t kNoAnswers[] = {
    RD_KAFKA_RESP_ERR__TIMED_OUT,        RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE,
    RD_KAFKA_RESP_ERR__TRANSPORT,        RD_KAFKA_RESP_ERR__RESOLVE,
    RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, RD_KAFKA_RESP_ERR__UNKNOWN_BROKER,
    RD_KAFKA_RESP_ERR__DESTROY,          RD_KAFKA_RESP_ERR__DESTROY_BROKER};

bool IsAnswer(rd_kafka_resp_err_t code) {
  return std::ranges::find(kNoAnswers, code) == std::end(kNoAnswers);
}

void Ask(rd_kafka_t* client, int32_t node, int timeout_millis,
         rd_kafka_queue_t* answers) {
  const char* name = kAnyTopic;
  const KafkaTopicCollection topics(
      rd_kafka_TopicCollection_of_topic_names(&name, 1));
  const KafkaAdminOptions options(
      rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS));
  rd_kafka_AdminOptions_set_broker(options.get(), node, nullptr, 0);
  rd_kafka_AdminOptions_set_request_timeout(options.get(), timeout_millis,
                                            nullptr, 0);
  rd_kafka_AdminOptions_set_opaque(
      options.get(), reinterpret_cast<void*>(static_cast<intptr_t>(node)));
  rd_kafka_DescribeTopics(client, topics.get(), options.get(), answers);
}

}  // namespace

std::set<int32_t> FindSilentBrokers(rd_kafka_t* client,
                                    const rd_kafka_metadata_broker_t* brokers,
                                    int count, int timeout_millis) {
  std::set<int32_t> silent;
  const KafkaQueue answers(rd_kafka_queue_new(client));
  for (int i = 0; i < count; ++i) {
    silent.insert(brokers[i].id);
    Ask(client, brokers[i].id, timeout_millis, answers.get());
  }
  const MonotonicTime deadline = AfterMillis(timeout_millis);
  for (int i = 0; i < count; ++i) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    const KafkaEvent answer(
        rd_kafka_queue_poll(answers.get(), static_cast<int>(left.count())));
    if (answer == nullptr) break;
    if (!IsAnswer(rd_kafka_event_error(answer.get()))) continue;
    silent.erase(static_cast<int32_t>(
        reinterpret_cast<intptr_t>(rd_kafka_event_opaque(answer.get()))));
  }
  return silent;
}

}  // namespace walpost
