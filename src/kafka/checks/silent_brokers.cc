#include "kafka/checks/silent_brokers.h"

#include <algorithm>
#include <iterator>

#include "kafka/client/admin_request.h"

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

}  // namespace

std::set<int32_t> FindSilentBrokers(rd_kafka_t* client,
                                    const rd_kafka_metadata_broker_t* brokers,
                                    int count, int timeout_millis) {
  std::set<int32_t> silent;
  const KafkaQueue answers(rd_kafka_queue_new(client));
  for (int i = 0; i < count; ++i) {
    silent.insert(brokers[i].id);
    AdminRequest(client, answers.get())
        .Within(std::chrono::milliseconds(timeout_millis))
        .To(brokers[i].id)
        .Marked(reinterpret_cast<void*>(static_cast<intptr_t>(brokers[i].id)))
        .DescribeTopics({kAnyTopic});
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
