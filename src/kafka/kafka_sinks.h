// KafkaSinks: creates the sinks that write to Kafka. The only header of kafka/
// that their users need.
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include "delivery/record_sink.h"
#include "kafka/kafka_memory.h"
#include "kafka/producer_options.h"

namespace walpost {

// `memory`, if any, outlives the sinks, and has the knowledge of earlier ones.
// Everything runs on `executor`.
SinkFactory KafkaSinks(boost::asio::any_io_executor executor,
                       ProducerOptions kafka, KafkaMemory* memory = nullptr);

}  // namespace walpost
