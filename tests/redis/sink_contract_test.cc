// The contract of delivery/record_sink.h, on a real server.
#include "support/sink_contract.h"

#include <boost/asio/io_context.hpp>
#include <memory>

#include "redis/redis_sinks.h"
#include "support/redis_server.h"

namespace walpost::testing {
namespace {

class RedisHarness {
 public:
  explicit RedisHarness(CountingReports& reports) {
    RedisOptions options;
    options.address = server_.address();
    options.max_entry_bytes = size_t{1} << 20;
    const SinkFactory sinks = RedisSinks(io_.get_executor(), options);
    sink_ = *sinks(SinkOptions(), reports, [] {});
  }

  Sink& sink() { return *sink_; }
  void Turn() {
    io_.restart();
    io_.run_for(std::chrono::milliseconds(5));
  }
  void Silence() { server_.Freeze(); }

 private:
  RedisServer server_;
  boost::asio::io_context io_{1};
  std::unique_ptr<Sink> sink_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Redis, SinkContractTest, RedisHarness);

}  // namespace
}  // namespace walpost::testing
