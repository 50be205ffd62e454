// The configuration of librdkafka: our defaults, the user's properties, which
// override them, and fixed properties.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kafka/client/handles.h"
#include "kafka/client/producer_options.h"

namespace walpost {

// kFailedPrecondition: names the property, but not its value, which may be a
// secret.
absl::Status SetKafkaProperty(rd_kafka_conf_t* conf, const std::string& name,
                              const std::string& value);

// `options` with the current values of its properties: for another thread.
// kUnavailable: one cannot be read now (ReloadableText).
absl::StatusOr<ProducerOptions> ReadProperties(ProducerOptions options);

// kInvalidArgument: names a property that the user must not set, and why.
// kFailedPrecondition: names one that librdkafka rejects. kUnavailable: a value
// cannot be read now (ReloadableText).
absl::StatusOr<KafkaConf> MakeProducerConf(const ProducerOptions& options);

}  // namespace walpost
