#include "kafka/producer/kafka_sinks.h"

#include <string>
#include <utility>

#include "kafka/producer/producer.h"

namespace walpost {

SinkFactory KafkaSinks(boost::asio::any_io_executor executor,
                       ProducerOptions kafka, ClusterState* memory) {
  return [=](const SinkOptions& options, RecordReports& reports,
             std::function<void()> on_drained)
             -> absl::StatusOr<std::unique_ptr<Sink>> {
    ProducerOptions own = kafka;
    own.client_id += options.client_id_suffix;
    own.transactional_id = options.transactional_id;
    own.one_at_a_time = options.one_at_a_time;
    // In front, so that the user's own value overrides it.
    if (options.topic_patience) {
      own.properties.emplace(own.properties.begin(),
                             "topic.metadata.propagation.max.ms",
                             std::to_string(options.topic_patience->count()));
    }
    return Producer::Create(executor, own, reports, std::move(on_drained),
                            memory);
  };
}

}  // namespace walpost
