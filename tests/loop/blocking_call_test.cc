#include "loop/blocking_call.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace walpost {
namespace {

namespace asio = boost::asio;
using Call = BlockingCall<std::string>;
using std::chrono::milliseconds;

MonotonicTime In(milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

// What waiting for `call` gives; runs the loop until then.
std::optional<std::string> Await(asio::io_context& io, Call& call,
                                 MonotonicTime deadline) {
  std::optional<std::string> result;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> { result = co_await call.Wait(deadline); },
      asio::detached);
  io.restart();
  io.run();
  return result;
}

// Threads that all wait until it goes.
class Blockade {
 public:
  ~Blockade() {
    open_.set_value();
    AwaitBlockedThreads(std::chrono::seconds(10));
    EXPECT_EQ(CountBlockedThreads(), 0);
  }
  std::function<std::string()> Passing(std::string result) {
    return [gate = gate_, result] {
      gate.wait();
      return result;
    };
  }

 private:
  std::promise<void> open_;
  std::shared_future<void> gate_ = open_.get_future().share();
};

TEST(BlockingCallTest, GivesTheResult) {
  asio::io_context io;
  auto call = Call::Start(io.get_executor(), [] { return "done"; });
  ASSERT_TRUE(call.ok()) << call.status();
  const auto result = Await(io, **call, In(std::chrono::seconds(10)));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(*result, "done");
}

TEST(BlockingCallTest, TheLoopGoesOnMeanwhile) {
  asio::io_context io;
  auto call = [&] {
    Blockade blockade;
    auto started = Call::Start(io.get_executor(), blockade.Passing("late"));
    EXPECT_TRUE(started.ok());
    const auto early = Await(io, **started, In(milliseconds(5)));
    EXPECT_FALSE(early.has_value());
    return started;
  }();
  const auto result = Await(io, **call, In(std::chrono::seconds(10)));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(*result, "late");
}

TEST(BlockingCallTest, ACallThatNobodyAwaitsMayEndAfterItsLoop) {
  Blockade blockade;
  asio::io_context io;
  ASSERT_TRUE(Call::Start(io.get_executor(), blockade.Passing("unheard")).ok());
}

TEST(RunOnThreadTest, RefusesMoreThanTheLimit) {
  Blockade blockade;
  for (int i = 0; i < kMaxBlockedThreads; ++i) {
    ASSERT_TRUE(RunOnThread([work = blockade.Passing("")] { work(); }).ok());
  }
  EXPECT_EQ(CountBlockedThreads(), kMaxBlockedThreads);
  EXPECT_TRUE(absl::IsResourceExhausted(RunOnThread([] {})));
}

TEST(RunOnThreadTest, FreesWhatTheWorkHeldBeforeItCountsAsEnded) {
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = held;
  ASSERT_TRUE(RunOnThread([held = std::move(held)] { ++*held; }).ok());
  AwaitBlockedThreads(std::chrono::seconds(10));
  EXPECT_TRUE(seen.expired());
}

}  // namespace
}  // namespace walpost
