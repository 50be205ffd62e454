// Creates the sinks that write to RabbitMQ. The only header of rabbitmq/ that
// the relay's factory needs for them (app/sink/sinks.h).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "absl/status/status.h"
#include "delivery/record_sink.h"
#include "delivery/sink_knowledge.h"
#include "rabbitmq/options.h"

namespace walpost {

// kInvalidArgument names the key. Reads no file.
absl::Status CheckRabbitmqOptions(const RabbitmqOptions& options);

// Sinks that share nothing but the turn of the servers. Everything runs on
// `executor`.
SinkFactory RabbitmqSinks(boost::asio::any_io_executor executor,
                          RabbitmqOptions options);
// A queue does not tell its past, so there is nothing to know about topics.
std::unique_ptr<SinkKnowledge> MakeRabbitmqKnowledge(
    boost::asio::any_io_executor executor, RabbitmqOptions options);

}  // namespace walpost
