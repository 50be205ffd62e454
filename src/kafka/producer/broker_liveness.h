// BrokerLiveness: time of the last answer of a broker.
//
// A frozen broker keeps its connections open, so an open connection proves
// nothing. While records flow, acknowledgements are the sign. While nothing is
// sent, each connected broker is asked regularly about one topic: the answer
// counts, whatever it is. A client that has only just begun knows no broker by
// its number; then the question goes to the one that the client chooses, and
// makes it connect to it.
//
// It does not ask about the cluster, because librdkafka 2.15 crashes over an
// answer without an id of the cluster, or without a broker in it. A broker
// gives such an answer while it starts.
//
// Owned by the Producer, whose client and queue outlive it. Never blocks: an
// answer comes through the queue as an event.
#pragma once

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "kafka/client/response_observer.h"
#include "kafka/producer/producer_statistics.h"

namespace walpost {

class BrokerLiveness {
 public:
  // `answer` is of that client.
  BrokerLiveness(rd_kafka_t* client, rd_kafka_queue_t* queue,
                 std::shared_ptr<const LastAnswer> answer)
      : client_(client), queue_(queue), answer_(std::move(answer)) {}

  void OnStatistics(const ProducerStatistics& statistics, MonotonicTime now);
  // Call it about once a second. Asks the connected brokers if none has
  // answered for kAskAfter, and any if none is connected, so that an idle
  // client connects again; skips brokers that owe an answer. `topic`: the one
  // to ask about; empty: none, and an open connection counts as a sign of life.
  void OnTick(MonotonicTime now, const std::string& topic);
  // An answer, or none within the client's socket.timeout.ms: the event
  // RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT. False: it belongs to another.
  bool OnAnswer(rd_kafka_event_t* event);

  // A broker has refused a record: also an answer.
  void OnRefusal(MonotonicTime now) { heard_at_ = now; }

  // Time of the last answer of any broker.
  MonotonicTime heard_at() const {
    return std::max(heard_at_, answer_->at().value_or(MonotonicTime()));
  }
  // Brokers with an open connection, as of the last statistics; or one that has
  // answered between them and the last tick. A client that is rejected is
  // mostly rejected before its first tick.
  size_t brokers_up() const { return brokers_up_; }

 private:
  static constexpr std::chrono::seconds kAskAfter{3};
  static constexpr size_t kMaxAsked = 16;

  // The client chooses the broker.
  static constexpr int32_t kAnyNode = -1;

  void Ask(int32_t node, const std::string& topic);

  rd_kafka_t* client_;
  rd_kafka_queue_t* queue_;
  std::shared_ptr<const LastAnswer> answer_;
  size_t brokers_up_ = 0;
  std::vector<int32_t> nodes_up_;  // of the statistics,
  MonotonicTime statistics_at_{};  // which are of this time
  std::set<int32_t> asked_;        // node ids; at most kMaxAsked
  MonotonicTime heard_at_{};       // by other signs than an answer
};

}  // namespace walpost
