// The contract of delivery/record_sink.h, against a real nats-server.
#include "support/sink_contract.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>

#include "nats/nats_server.h"
#include "nats/nats_sinks.h"

namespace walpost::testing {
namespace {

class NatsHarness {
 public:
  explicit NatsHarness(CountingReports& reports) {
    NatsOptions options;
    options.servers = server_.url();
    options.create_stream = NatsStreamCreation();
    options.create_stream->name = "T";
    options.create_stream->subjects = {kContractTopic};
    options.create_stream->replicas = 1;
    const SinkFactory sinks = NatsSinks(io_.get_executor(), options);
    sink_ = *sinks(SinkOptions(), reports, [] {});
  }

  Sink& sink() { return *sink_; }
  void Turn() {
    io_.restart();
    io_.run_for(std::chrono::milliseconds(5));
  }
  void Silence() { server_.Freeze(); }

 private:
  NatsServer server_;
  boost::asio::io_context io_{1};
  std::unique_ptr<Sink> sink_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Nats, SinkContractTest, NatsHarness);

}  // namespace
}  // namespace walpost::testing
