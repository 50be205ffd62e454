// Kafka options of `verify` and `recover`.
#pragma once

#include "config/config.h"
#include "kafka/broker_trouble.h"
#include "verify/topic_reader.h"

namespace walpost {

inline TopicReaderOptions TopicReaderOptionsOf(const Config& config) {
  return {config.kafka.brokers, config.kafka.properties, &WhyUnreached};
}

}  // namespace walpost
