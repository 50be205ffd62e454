#include "session/process_suspend_detector.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr BootTime kStart{std::chrono::hours(1)};

TEST(ProcessSuspendDetectorTest, BearsLessThanHalfOfTheTimeout) {
  ProcessSuspendDetector watch(seconds(30));
  watch.Start(kStart);
  EXPECT_FALSE(watch.OnTurn(kStart + milliseconds(14'999)).has_value());
  EXPECT_FALSE(watch.OnTurn(kStart + milliseconds(29'998)).has_value());
}

TEST(ProcessSuspendDetectorTest, TellsHowLongItWasFromHalfOfTheTimeoutOn) {
  ProcessSuspendDetector watch(seconds(30));
  watch.Start(kStart);
  EXPECT_EQ(watch.OnTurn(kStart + seconds(15)), seconds(15));
  EXPECT_FALSE(watch.OnTurn(kStart + seconds(16)).has_value()) << "once";
}

TEST(ProcessSuspendDetectorTest, AnOrdinaryWaitIsNoSuspension) {
  ProcessSuspendDetector watch(milliseconds(500));
  watch.Start(kStart);
  const auto longest = ProcessSuspendDetector::kMaxTurn;
  EXPECT_FALSE(watch.OnTurn(kStart + longest).has_value());
  EXPECT_TRUE(watch.OnTurn(kStart + 3 * longest).has_value());
}

// A clock that stood still during a suspend would not show it.
TEST(ProcessSuspendDetectorTest, IsToldTheTimeThatASuspendedMachineSees) {
  timespec time{};
  ASSERT_EQ(clock_gettime(CLOCK_BOOTTIME, &time), 0);
  const auto since_boot =
      seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  EXPECT_GE(BootClock::now().time_since_epoch(), since_boot);
  EXPECT_LT(BootClock::now().time_since_epoch(), since_boot + seconds(10));
}

}  // namespace
}  // namespace walpost
