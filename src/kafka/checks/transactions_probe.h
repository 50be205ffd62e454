// Asks whether a user may write transactions with an id, without fencing the
// producer that has it.
//
// A coordinator answers InitProducerId in this order:
//
//   no right WRITE or DESCRIBE    TRANSACTIONAL_ID_AUTHORIZATION_FAILED
//   timeout above the maximum     INVALID_TRANSACTION_TIMEOUT
//   else                          fences the present producer
//
// (KafkaApis.handleInitProducerIdRequest and
// TransactionCoordinator.handleInitProducerId). So the probe asks for the
// largest timeout that there is. Where it is not above the maximum of each
// broker, the caller must not ask.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include "kafka/checks/transactions_check.h"
#include "kafka/client/producer_options.h"

namespace walpost {

// librdkafka adds 100 ms to it.
inline constexpr std::chrono::milliseconds kProbedTimeout{
    std::numeric_limits<int32_t>::max() - 1'000};

// Fills in the answer for `probed.id`. Requires TransactionFacts::can_probe().
// Blocks for up to `limit`. Errors are those of the properties.
absl::Status ProbeTransactionalId(const ProducerOptions& options,
                                  std::chrono::milliseconds limit,
                                  ProbedId& probed);

}  // namespace walpost
