// Questions for the controller, which are asked again.
//
// The controller that a client knows of may be a broker that is gone: with
// KRaft the brokers name any of them, until they have noticed. The question
// then waits for it; the next metadata name another.
#pragma once

#include <librdkafka/rdkafka.h>

#include <functional>
#include <stop_token>

#include "base/time.h"
#include "kafka/client/handles.h"

namespace walpost {

// Called once or more; the answer must go to the queue.
using AdminQuestion =
    std::function<void(rd_kafka_t* client, rd_kafka_AdminOptions_t* options,
                       rd_kafka_queue_t* answers)>;

inline MonotonicTime AfterMillis(int millis) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(millis);
}

// The answer; it may be an error. nullptr: there was none until `deadline`, or
// until it was to stop. A question that changes something may be carried out
// twice. Blocks.
KafkaEvent AskController(rd_kafka_t* client, MonotonicTime deadline,
                         const AdminQuestion& ask,
                         const std::stop_token& stop = {});

}  // namespace walpost
