// Creates the sinks that write to Kafka. The only header of kafka/ that the
// relay's factory needs for them (app/sink/sinks.h).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "absl/status/status.h"
#include "delivery/record_sink.h"
#include "delivery/sink_knowledge.h"
#include "kafka/client/producer_options.h"

namespace walpost {

// Errors of MakeProducerConf: a property that must not be set, or is unknown.
absl::Status CheckKafkaOptions(const ProducerOptions& kafka);

// Sinks that share nothing. Everything runs on `executor`.
SinkFactory KafkaSinks(boost::asio::any_io_executor executor,
                       ProducerOptions kafka);
std::unique_ptr<SinkKnowledge> MakeKafkaKnowledge(
    boost::asio::any_io_executor executor, ProducerOptions kafka);

}  // namespace walpost
