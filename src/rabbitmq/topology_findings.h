// Findings about exchanges and queues, from the server's answers. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/finding.h"
#include "rabbitmq/handshake.h"
#include "rabbitmq/options.h"
#include "rabbitmq/server_error.h"

namespace walpost::rabbitmq {

struct TopologyAnswers {
  // nullopt: not asked for, because its name is not fixed, or it is "".
  std::optional<AmqpAnswer> exchange;
  // By name, of the queues that the configuration names.
  std::map<std::string, AmqpAnswer> queues;
  // By name, of those that exist: the answer to a declaration as quorum queue.
  std::map<std::string, AmqpAnswer> kinds;
};

Findings FindingsOf(const TopologyAnswers& answers,
                    const RabbitmqOptions& options, const RabbitmqLogin& login);

}  // namespace walpost::rabbitmq
