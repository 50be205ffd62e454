// The one place that creates clients of librdkafka.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kafka/client/handles.h"

namespace walpost {

// A client with this configuration. It logs in with the tokens of
// `token_command` (kafka.token_command), unless that is empty. A caller that is
// not on the loop may wait for the first token with AwaitToken.
//
// kFailedPrecondition: librdkafka rejects the properties. The caller destroys
// the client.
absl::StatusOr<rd_kafka_t*> NewKafkaClient(
    rd_kafka_type_t type, KafkaConf conf,
    const std::vector<std::string>& token_command);

// Waits until the program of kafka.token_command has given the client its first
// token, or has failed; returns at once if the client has no such program. So
// the time that the program takes is not part of the time that a request may
// take. Blocks, at most for kSecretCommandLimit.
void AwaitToken(rd_kafka_t* client);

}  // namespace walpost
