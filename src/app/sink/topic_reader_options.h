// Kafka options of verbs that read topics.
#pragma once

#include <chrono>

#include "config/config.h"
#include "kafka/client/connection_diagnosis.h"
#include "verify/topic_reader.h"

namespace walpost {

inline TopicReaderOptions TopicReaderOptionsOf(const Config& config) {
  // Brokers look for expired transactions every 10 s.
  constexpr std::chrono::seconds kUntilAborted{15};
  TopicReaderOptions options{config.kafka.brokers, config.kafka.properties,
                             &WhyUnreached};
  options.transaction_limit = config.transactions.timeout + kUntilAborted;
  return options;
}

}  // namespace walpost
