// BrokerPulse: when a broker was last heard from.
//
// A frozen broker keeps its connections open, so that a connection is up shows
// nothing. While records flow, their acknowledgements show it. While nothing is
// sent, each connected broker is asked now and then for a description of the
// cluster, the smallest request that every broker answers to everybody.
//
// Owned by the Producer, whose client and queue outlive it. Never blocks: an
// answer comes through the queue as an event.
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <set>

#include "base/time.h"
#include "kafka/producer_statistics.h"

namespace walpost {

class BrokerPulse {
 public:
  BrokerPulse(rd_kafka_t* client, rd_kafka_queue_t* queue)
      : client_(client), queue_(queue) {}

  // Each second or so. Asks the connected brokers if all have been silent for
  // kAskAfter; none that owes an answer.
  //
  // A cluster without an id cannot be asked: librdkafka 2.15 crashes over the
  // answer. Of such a one, a connection that is up counts as a sign of life.
  void OnStatistics(const ProducerStatistics& statistics, MonotonicTime now,
                    bool cluster_has_id);
  // An answer, or that none came in the client's socket.timeout.ms: the event
  // RD_KAFKA_EVENT_DESCRIBECLUSTER_RESULT.
  void OnAnswer(rd_kafka_event_t* event);

  // When the last bytes came from any broker, as of the last statistics.
  MonotonicTime heard_at() const { return heard_at_; }

 private:
  static constexpr std::chrono::seconds kAskAfter{3};
  static constexpr size_t kMaxAsked = 16;

  void Ask(int32_t node);

  rd_kafka_t* client_;
  rd_kafka_queue_t* queue_;
  std::set<int32_t> asked_;  // node ids; at most kMaxAsked
  MonotonicTime heard_at_{};
};

}  // namespace walpost
