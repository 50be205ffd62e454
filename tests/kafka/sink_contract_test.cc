// The contract of delivery/record_sink.h, held by every sink: the one in
// memory, which other tests trust, and librdkafka's against its mock cluster.
#include "support/sink_contract.h"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <boost/asio/io_context.hpp>
#include <memory>

#include "kafka/producer/kafka_sinks.h"
#include "support/memory_sink.h"

namespace walpost::testing {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class MemoryHarness {
 public:
  explicit MemoryHarness(CountingReports& reports) : sink_(&reports) {}

  Sink& sink() { return sink_; }
  void Turn() { sink_.Turn(Clock::now()); }
  // The brokers answer nothing from now on.
  void Silence() { sink_.SetSilent(); }

 private:
  MemorySink sink_;
};

class KafkaHarness {
 public:
  explicit KafkaHarness(CountingReports& reports)
      : owner_(
            rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), nullptr, 0)),
        cluster_(rd_kafka_mock_cluster_new(owner_, 1)) {
    rd_kafka_mock_topic_create(cluster_, kContractTopic, 1, 1);
    ProducerOptions options;
    options.brokers = rd_kafka_mock_cluster_bootstraps(cluster_);
    const SinkFactory sinks = KafkaSinks(io_.get_executor(), options);
    sink_ = *sinks(SinkOptions(), reports, [] {});
  }

  ~KafkaHarness() {
    sink_.reset();
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(owner_);
  }

  Sink& sink() { return *sink_; }
  void Turn() {
    io_.restart();
    io_.run_for(milliseconds(5));
  }
  void Silence() { rd_kafka_mock_broker_set_rtt(cluster_, 1, 60'000); }

 private:
  boost::asio::io_context io_{1};
  rd_kafka_t* owner_;
  rd_kafka_mock_cluster_t* cluster_;
  std::unique_ptr<Sink> sink_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, SinkContractTest, MemoryHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Kafka, SinkContractTest, KafkaHarness);

}  // namespace
}  // namespace walpost::testing
