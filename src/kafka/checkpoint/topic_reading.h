// A consumer for reading a topic without a group.
#pragma once

#include "absl/status/statusor.h"
#include "kafka/client/handles.h"
#include "kafka/client/producer_options.h"

namespace walpost {

enum class Isolation {
  kCommitted,    // only records of committed transactions
  kUncommitted,  // all
};

// kFailedPrecondition: librdkafka rejects the properties.
absl::StatusOr<KafkaClient> MakeReadingClient(const ProducerOptions& options,
                                              Isolation isolation);

}  // namespace walpost
