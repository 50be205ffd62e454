// What `walpost check` finds out about RabbitMQ, over AMQP alone.
//
// AMQP tells whether an exchange or a queue of a known name exists, and not
// which queues an exchange has, or what kind they are. The findings say so.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "delivery/sink_findings.h"
#include "rabbitmq/options.h"

namespace walpost {

// Names of topics, as they begin, or whole.
struct RabbitmqTopic {
  std::string prefix;
  bool is_whole = false;
};

// Blocks for up to `timeout` per connection, of which there are two. Makes
// nothing, and sends no message. Servers that cannot be reached are a finding.
// kInvalidArgument: see CheckRabbitmqOptions. kUnavailable: a credential cannot
// be read.
absl::StatusOr<SinkFindings> CheckRabbitmq(
    const RabbitmqOptions& options, const std::vector<RabbitmqTopic>& topics,
    std::chrono::milliseconds timeout);

}  // namespace walpost
