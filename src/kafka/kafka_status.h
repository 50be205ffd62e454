// Errors of librdkafka as absl::Status.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string_view>

#include "absl/status/status.h"

namespace walpost {

// The code says what to do (delivery/error_policy.h). `attempted` says what
// was tried: "delivering 12 bytes to topic t".
absl::Status StatusFromKafka(rd_kafka_resp_err_t code,
                             std::string_view attempted);

// kAborted: of a producer that cannot go on. `text` is librdkafka's, and alone
// says whether the brokers refused a record or an id for the producer for want
// of a right: `code` is then that of the gap which the refused record leaves.
absl::Status StatusFromFatalError(rd_kafka_resp_err_t code,
                                  std::string_view text);

}  // namespace walpost
