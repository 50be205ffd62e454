// Errors of librdkafka's transaction functions as absl::Status.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/kafka_user.h"

namespace walpost {

// Names for the messages.
struct TransactionNames {
  std::string id;         // transactional.id
  std::string successor;  // who fences: "another command"
  KafkaUser user;
};

// kAborted: fenced (with the code kReasonFenced), or the transaction can only
// be aborted. kFailedPrecondition: an operator must act. kUnavailable: no
// answer. Takes ownership of `error`; nullptr: ok.
absl::Status StatusFromTransaction(rd_kafka_error_t* error,
                                   std::string_view attempted,
                                   const TransactionNames& names);

// True if the producer was fenced, or its transaction has timed out.
bool IsFenced(rd_kafka_resp_err_t code);

// kAborted: why a transaction can only be aborted, from what librdkafka logs
// about it (facility TXNERR). With kReasonFenced, if another producer is why.
// kFailedPrecondition: a right is missing, which an operator may grant.
absl::Status StatusFromTransactionLog(std::string_view text);

// The error of a topic that cannot be part of a transaction, from what
// librdkafka logs about it (facility ADDPARTS): the error of the transaction
// does not name the topic. kFailedPrecondition: an operator must act. Ok: the
// text is about something else.
absl::Status StatusFromAddParts(std::string_view text);

}  // namespace walpost
