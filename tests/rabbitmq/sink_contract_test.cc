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
    server().Thaw();
    RabbitmqOptions options;
    options.nodes = server().address();
    options.create.queue = kContractTopic;
    const SinkFactory sinks = RabbitmqSinks(io_.get_executor(), options);
    sink_ = *sinks(SinkOptions(), reports, [] {});
  }
  ~RabbitmqHarness() { server().Thaw(); }

  Sink& sink() { return *sink_; }
  void Turn() {
    io_.restart();
    io_.run_for(std::chrono::milliseconds(5));
  }
  void Silence() { server().Freeze(); }

 private:
  // Erlang starts slowly: one for all tests.
  static RabbitmqServer& server() {
    static RabbitmqServer server;
    static const bool is_up = server.Await();
    EXPECT_TRUE(is_up);
    return server;
  }

  boost::asio::io_context io_{1};
  std::unique_ptr<Sink> sink_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Rabbitmq, SinkContractTest, RabbitmqHarness);

}  // namespace
}  // namespace walpost::testing
