// Errors of librdkafka as absl::Status.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string_view>

#include "absl/status/status.h"

namespace walpost {

// The code says what to do (delivery/error_policy.h). `attempted` describes the
// attempt: "delivering 12 bytes to topic t".
absl::Status StatusFromKafka(rd_kafka_resp_err_t code,
                             std::string_view attempted);

// kAborted: the producer cannot continue. Only `text`, librdkafka's, says
// whether the brokers rejected a record or a producer id because of a missing
// right: `code` is then that of the gap which the rejected record leaves.
absl::Status StatusFromFatalError(rd_kafka_resp_err_t code,
                                  std::string_view text);

}  // namespace walpost
