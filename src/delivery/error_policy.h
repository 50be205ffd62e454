// The table of errors: what an error of Postgres or Kafka means for the flow,
// and what an operator should do about it.
//
// The remedy is the absl::StatusCode (docs/states.md has it in words):
//
//   kUnavailable         passes by itself: reconnect or retry, with backoff
//   kAborted             the producer is unusable: replace it and rewind
//   kInvalidArgument     this record cannot be delivered: stop before it
//   kResourceExhausted   no room now: offer it again after a report
//   kFailedPrecondition  an operator must act first
//   kDataLoss            the stream is damaged: reconnect; an operator must act
//                        if it happens again at the same place
//
// An error that is not in the table means stop: kFailedPrecondition. Pure data:
// neither libpq nor librdkafka is included here. Codes are the numbers and
// texts of their manuals.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace walpost {

struct ErrorRule {
  absl::StatusCode remedy;
  // Advice for the operator, appended to the message; may be empty.
  std::string_view hint;
  // Code of a record that cannot be delivered (base/reason_code.h), else empty.
  std::string_view reason_code = {};
};

// `sqlstate` is five characters, or empty if the connection was lost without
// one. PostgreSQL manual, appendix A.
ErrorRule ClassifySqlstate(std::string_view sqlstate);

// `code` is an rd_kafka_resp_err_t: negative for librdkafka's own errors,
// positive for the broker's (Kafka protocol, "Error codes").
ErrorRule ClassifyKafkaError(int code);

}  // namespace walpost
