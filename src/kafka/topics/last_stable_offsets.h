// LastStableOffsets: asks the brokers up to which offsets consumers of
// committed records get the partitions that have ours (in Kafka: the last
// stable offsets).
//
// Never blocks: an answer comes through the queue as an event.
//
// Owned by the Producer, whose client and queue outlive it.
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstddef>

#include "base/time.h"
#include "kafka/topics/lso_lag_monitor.h"
#include "kafka/topics/offset_regression_detector.h"

namespace walpost {

class LastStableOffsets {
 public:
  // All arguments outlive it.
  LastStableOffsets(rd_kafka_t* client, rd_kafka_queue_t* queue,
                    const OffsetRegressionDetector& offsets,
                    LsoLagMonitor& hidden)
      : client_(client), queue_(queue), offsets_(offsets), hidden_(hidden) {}

  // Call it every second; asks every ten.
  void OnTick(MonotonicTime now);
  // An answer, or none: RD_KAFKA_EVENT_LISTOFFSETS_RESULT.
  void OnAnswer(rd_kafka_event_t* event, MonotonicTime now);

 private:
  static constexpr std::chrono::seconds kAskAgainAfter{10};
  static constexpr std::chrono::milliseconds kRequestLimit{10'000};
  // If there are more partitions, the next ones have their turn.
  static constexpr size_t kMaxAsked = 1000;

  rd_kafka_t* client_;
  rd_kafka_queue_t* queue_;
  const OffsetRegressionDetector& offsets_;
  LsoLagMonitor& hidden_;
  bool is_asking_ = false;
  size_t first_ = 0;  // of the next part
  MonotonicTime asked_at_{};
};

}  // namespace walpost
