// What the event loop watches: a socket during a wait; and nothing at the limit
// of descriptors, without an abort.
#include "loop/socket_waiter.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

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

int OpenDescriptors() {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<int>(std::distance(Iterator("/proc/self/fd"), Iterator()));
}

class WatchedSocketTest : public ::testing::Test {
 protected:
  WatchedSocketTest() {
    EXPECT_TRUE(waiter_.Watch(signal_.fd()).ok());
    asio::steady_timer(io_).cancel();  // io has its own descriptors now
    quiet_ = Watched();
  }

  // Descriptors that the epoll instances of this process have.
  static int Watched() {
    int watched = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/self/fdinfo")) {
      std::ifstream info(entry.path());
      for (std::string line; std::getline(info, line);) {
        watched += line.starts_with("tfd:");
      }
    }
    return watched;
  }

  void Wait(MonotonicTime until = MonotonicTime::max()) {
    is_over_ = false;
    asio::co_spawn(
        io_,
        [this, until]() -> asio::awaitable<void> {
          co_await waiter_.Wait(SocketWaiter::Interest::kRead, until);
          is_over_ = true;
        },
        asio::detached);
    io_.restart();
    io_.poll();
  }
  bool IsOver() {
    io_.restart();
    io_.run_for(std::chrono::seconds(10));
    return is_over_;
  }

  asio::io_context io_{1};
  DoneSignal signal_;
  SocketWaiter waiter_{io_.get_executor()};
  bool is_over_ = false;
  int quiet_ = 0;
};

// What arrives at other times must not wake the loop.
TEST_F(WatchedSocketTest, TheLoopKnowsTheSocketDuringAWait) {
  for (int round = 0; round < 3; ++round) {
    Wait(std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
    EXPECT_EQ(Watched(), quiet_ + 1);
    EXPECT_FALSE(is_over_);
    EXPECT_TRUE(IsOver());
    EXPECT_EQ(Watched(), quiet_);
  }
  signal_.Set();
  Wait();
  EXPECT_TRUE(is_over_) << "it was there before the wait";
  Wait();
  EXPECT_TRUE(is_over_) << "and still is";
  EXPECT_EQ(Watched(), quiet_);
}

TEST_F(WatchedSocketTest, EveryEndOfAWaitLeavesNothing) {
  const int before = OpenDescriptors();
  Wait();
  waiter_.Wake();
  EXPECT_TRUE(IsOver());
  EXPECT_EQ(OpenDescriptors(), before);
  Wait();
  DoneSignal other;
  EXPECT_TRUE(waiter_.Watch(other.fd()).ok());  // libpq has a new socket
  EXPECT_TRUE(IsOver());
  EXPECT_EQ(OpenDescriptors(), before + 1) << "that of the signal";
  other.Set();
  Wait();
  EXPECT_TRUE(is_over_);
  waiter_.Release();
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_EQ(Watched(), quiet_);
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
