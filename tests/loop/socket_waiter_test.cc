// At the limit of descriptors nothing is watched, and nothing aborts.
#include "loop/socket_waiter.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "loop/blocking_call.h"
#include "support/descriptor_limit.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

TEST(SocketWaiterTest, WithoutADescriptorItWatchesNothingAndSaysSo) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan needs descriptors of its own";
#endif
  asio::io_context io(1);
  SocketWaiter waiter(io.get_executor());
  DoneSignal signal;
  {
    const testing::DescriptorLimit limit(/*free=*/0);
    const absl::Status watched = waiter.Watch(signal.fd());
    EXPECT_TRUE(absl::IsUnavailable(watched)) << watched;
    EXPECT_NE(watched.message().find("Too many open files"),
              absl::string_view::npos);
    EXPECT_NE(watched.message().find("ulimit -n"), absl::string_view::npos);
  }
  EXPECT_TRUE(waiter.Watch(signal.fd()).ok());
  bool is_woken = false;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        const MonotonicTime until = MonotonicTime::max();
        co_await waiter.Wait(SocketWaiter::Interest::kRead, until);
        is_woken = true;
      },
      asio::detached);
  signal.Set();
  io.run();
  EXPECT_TRUE(is_woken);
}

// It needs two: each may be the one that is missing.
TEST(BlockingCallTest, WithoutDescriptorsItDoesNotBegin) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UBSan needs descriptors of its own";
#endif
  asio::io_context io(1);
  const asio::steady_timer timer(io);  // io has its own descriptors now
  for (const int free : {0, 1}) {
    const testing::DescriptorLimit limit(free);
    const auto call = BlockingCall<int>::Start(io.get_executor(), [] {
      ADD_FAILURE() << "it has begun";
      return 1;
    });
    EXPECT_TRUE(absl::IsUnavailable(call.status())) << call.status();
  }
  EXPECT_EQ(CountBlockedThreads(), 0);
  EXPECT_TRUE(
      BlockingCall<int>::Start(io.get_executor(), [] { return 1; }).ok());
  AwaitBlockedThreads(std::chrono::seconds(10));
}

}  // namespace
}  // namespace walpost
