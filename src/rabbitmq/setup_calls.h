// What a sink asks of the server before its first message: that the exchange
// exists, or to make it with a queue (rabbitmq.create), and confirmations.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rabbitmq/handshake.h"
#include "rabbitmq/options.h"

namespace walpost::rabbitmq {

// The exchange with this name; "" and names from a template are not looked for.
// kInvalidArgument: a name is too long for AMQP.
absl::StatusOr<std::vector<AmqpCall>> MakeSetupCalls(
    const RabbitmqOptions& options);

// Asks whether it exists, whatever its type.
absl::StatusOr<AmqpCall> FindExchange(const std::string& name);
absl::StatusOr<AmqpCall> FindQueue(const std::string& name);
// Succeeds for a queue of this name that has a quorum, or for no queue.
absl::StatusOr<AmqpCall> DeclareQuorumQueue(const std::string& name);

}  // namespace walpost::rabbitmq
