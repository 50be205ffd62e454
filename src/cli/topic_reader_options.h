// How `verify` and `recover` read Kafka.
#pragma once

#include "config/config.h"
#include "judge/topic_reader.h"
#include "kafka/broker_trouble.h"

namespace walpost {

inline TopicReaderOptions TopicReaderOptionsOf(const Config& config) {
  return {config.kafka.brokers, config.kafka.properties, &WhyUnreached};
}

}  // namespace walpost
