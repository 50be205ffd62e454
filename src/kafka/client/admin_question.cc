#include "kafka/client/admin_question.h"

#include <algorithm>

namespace walpost {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// How long the first question waits; each further one twice as long.
constexpr milliseconds kFirstLimit{2'000};
constexpr milliseconds kMetadataLimit{1'000};
constexpr milliseconds kPollTime{100};

int Millis(MonotonicTime::duration duration) {
  const auto millis = std::chrono::ceil<milliseconds>(duration).count();
  return static_cast<int>(std::max<int64_t>(millis, 1));
}

// Some brokers name no controller (proxies). Then any of them is asked.
void RefreshMetadata(rd_kafka_t* client, rd_kafka_AdminOptions_t* options,
                     milliseconds limit) {
  const rd_kafka_metadata_t* metadata = nullptr;
  if (rd_kafka_metadata(client, /*all_topics=*/0, /*only_rkt=*/nullptr,
                        &metadata,
                        Millis(limit)) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    if (metadata->broker_cnt > 0 && rd_kafka_controllerid(client, 0) < 0) {
      rd_kafka_AdminOptions_set_broker(options, metadata->brokers[0].id,
                                       nullptr, 0);
    }
    rd_kafka_metadata_destroy(metadata);
  }
}

}  // namespace

KafkaEvent AskController(rd_kafka_t* client, MonotonicTime deadline,
                         const AdminQuestion& ask,
                         const std::stop_token& stop) {
  const KafkaQueue answers(rd_kafka_queue_new(client));
  const KafkaAdminOptions options(
      rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_ANY));
  if (rd_kafka_controllerid(client, 0) < 0) {
    RefreshMetadata(client, options.get(), kMetadataLimit);
  }
  for (milliseconds limit = kFirstLimit;; limit *= 2) {
    const MonotonicTime until =
        std::min<MonotonicTime>(deadline, Clock::now() + limit);
    rd_kafka_AdminOptions_set_request_timeout(
        options.get(), Millis(until - Clock::now()), nullptr, 0);
    ask(client, options.get(), answers.get());
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
    RefreshMetadata(client, options.get(),
                    std::min(kMetadataLimit,
                             std::chrono::duration_cast<milliseconds>(left)));
  }
}

}  // namespace walpost
