// The configuration of librdkafka: our defaults, the user's properties over
// them, and those that nobody may touch.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>

#include "absl/status/statusor.h"
#include "kafka/producer.h"

namespace walpost {

struct DestroyConf {
  void operator()(rd_kafka_conf_t* conf) const { rd_kafka_conf_destroy(conf); }
};
using KafkaConf = std::unique_ptr<rd_kafka_conf_t, DestroyConf>;

// kInvalidArgument: names the property, what is wrong, and why it is ours.
absl::StatusOr<KafkaConf> MakeProducerConf(const ProducerOptions& options);

// The same without a producer's own settings, for clients that only look
// (walpost check).
absl::StatusOr<KafkaConf> MakeClientConf(const ProducerOptions& options);

}  // namespace walpost
