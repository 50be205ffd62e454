// KafkaSinks: creates the sinks that write to Kafka. The only header of kafka/
// that their users need.
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include "delivery/record_sink.h"
#include "kafka/client/producer_options.h"
#include "kafka/producer/cluster_state.h"

namespace walpost {

// `memory`, if any, outlives the sinks, and has the knowledge of earlier ones.
// Everything runs on `executor`.
SinkFactory KafkaSinks(boost::asio::any_io_executor executor,
                       ProducerOptions kafka, ClusterState* memory = nullptr);

}  // namespace walpost
