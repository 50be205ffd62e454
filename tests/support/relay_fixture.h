// RelayFixture: a whole relay (Relay, PollingRelay) on the test's loop, between
// a server that knows its answers and the mock brokers.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/config.h"
#include "health/condition.h"
#include "loop/blocking_call.h"
#include "support/fake_postgres.h"
#include "support/mock_kafka.h"

namespace walpost::testing {

template <typename R>
class RelayFixture : public ::testing::Test {
 protected:
  static constexpr std::chrono::seconds kLimit{20};

  RelayFixture() {
    config_.postgres.server = server_.options();
    config_.kafka.brokers = kafka_.brokers();
  }
  ~RelayFixture() override {
    End();
    AwaitBlockedThreads(kLimit);  // they close producers
  }

  void Run(absl::StatusOr<std::unique_ptr<R>> made) {
    ASSERT_TRUE(made.ok()) << made.status();
    relay_ = *std::move(made);
    boost::asio::co_spawn(
        context_,
        [this]() -> boost::asio::awaitable<void> {
          const absl::Status status = co_await relay_->Run();
          ended_ = status;
        },
        boost::asio::detached);
  }
  void End() {
    if (relay_ == nullptr) return;
    relay_->Shutdown();
    RunUntil([this] { return ended_.has_value(); });
  }
  void RunUntil(const std::function<bool()>& is_done) {
    context_.restart();
    const MonotonicTime end = std::chrono::steady_clock::now() + kLimit;
    while (!is_done() && std::chrono::steady_clock::now() < end) {
      context_.run_one_for(std::chrono::seconds(1));
    }
    EXPECT_TRUE(is_done()) << ToString(relay_->Status().state) << ": "
                           << relay_->Status().reason;
  }
  void RunUntilState(RelayState state) {
    RunUntil([&] { return relay_->Status().state == state; });
  }

  boost::asio::io_context context_;
  MockKafka kafka_;
  FakePostgres server_{context_};
  Config config_;
  std::unique_ptr<R> relay_;
  std::optional<absl::Status> ended_;
};

}  // namespace walpost::testing
