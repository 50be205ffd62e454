// The configuration of librdkafka: our defaults, the user's properties over
// them, and those that nobody may touch.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kafka/producer.h"

namespace walpost {

struct DestroyConf {
  void operator()(rd_kafka_conf_t* conf) const { rd_kafka_conf_destroy(conf); }
};
using KafkaConf = std::unique_ptr<rd_kafka_conf_t, DestroyConf>;

// kFailedPrecondition: names the property, not its value, which may be a
// secret.
absl::Status SetKafkaProperty(rd_kafka_conf_t* conf, const std::string& name,
                              const std::string& value);

// `options` with the values that its properties have now: for another thread.
// kUnavailable: one cannot be read just now (ReloadableText).
absl::StatusOr<ProducerOptions> ReadProperties(ProducerOptions options);

// kInvalidArgument: names a property that is ours to set, and why.
// kFailedPrecondition: names one that librdkafka does not take. kUnavailable:
// the value of one cannot be read just now (ReloadableText).
absl::StatusOr<KafkaConf> MakeProducerConf(const ProducerOptions& options);

}  // namespace walpost
