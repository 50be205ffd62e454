// Creates the sinks that publish to NATS JetStream. The only header of nats/
// that the relay's factory needs for them (app/sink/sinks.h).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "absl/status/status.h"
#include "delivery/record_sink.h"
#include "delivery/sink_knowledge.h"
#include "nats/options.h"

namespace walpost {

// kInvalidArgument: names the key.
absl::Status CheckNatsOptions(const NatsOptions& options);

// Sinks that share nothing. Everything runs on `executor`.
SinkFactory NatsSinks(boost::asio::any_io_executor executor,
                      NatsOptions options);
std::unique_ptr<SinkKnowledge> MakeNatsKnowledge(
    boost::asio::any_io_executor executor, NatsOptions options);

}  // namespace walpost
