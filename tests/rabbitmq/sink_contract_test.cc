// The contract of delivery/record_sink.h, with a real RabbitMQ.
#include "support/sink_contract.h"

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>

#include "rabbitmq/rabbitmq_server.h"
#include "rabbitmq/rabbitmq_sinks.h"

namespace walpost::testing {
namespace {

class RabbitmqHarness {
 public:
  explicit RabbitmqHarness(CountingReports& reports) {
    SharedRabbitmq().Thaw();
    RabbitmqOptions options;
    options.nodes = SharedRabbitmq().address();
    options.create.queue = kContractTopic;
    const SinkFactory sinks = RabbitmqSinks(io_.get_executor(), options);
    sink_ = *sinks(SinkOptions(), reports, [] {});
  }
  ~RabbitmqHarness() { SharedRabbitmq().Thaw(); }

  Sink& sink() { return *sink_; }
  void Turn() {
    io_.restart();
    io_.run_for(std::chrono::milliseconds(5));
  }
  void Silence() { SharedRabbitmq().Freeze(); }

 private:
  boost::asio::io_context io_{1};
  std::unique_ptr<Sink> sink_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Rabbitmq, SinkContractTest, RabbitmqHarness);

}  // namespace
}  // namespace walpost::testing
