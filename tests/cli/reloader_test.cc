#include "cli/shared/reloader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <thread>

#include "loop/blocking_call.h"

namespace walpost {
namespace {

// Who ends in the middle of a reload can see it, and have it done again.
TEST(ReloaderTest, LoadsUntilTheFileIsReadAndTakenUp) {
  const auto may_end = std::make_shared<std::atomic<bool>>(false);
  boost::asio::io_context context;
  LiveConfig live{Config()};
  ServiceNotifier notifier{ServiceNotifier::Options()};
  int taken_up = 0;
  Reloader reloader(
      context.get_executor(), live, notifier,
      [may_end]() -> absl::StatusOr<Config> {
        while (!*may_end) std::this_thread::yield();
        return Config();
      },
      [&taken_up] { ++taken_up; });
  EXPECT_FALSE(reloader.is_loading());
  reloader.Reload();
  context.run_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(reloader.is_loading());
  EXPECT_EQ(taken_up, 0);
  *may_end = true;
  context.restart();
  context.run_for(std::chrono::seconds(20));
  EXPECT_FALSE(reloader.is_loading());
  EXPECT_EQ(taken_up, 1);
  AwaitBlockedThreads(std::chrono::seconds(20));
}

}  // namespace
}  // namespace walpost
