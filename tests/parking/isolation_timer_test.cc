#include "parking/isolation_timer.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::seconds;

constexpr Position kFirst{Lsn(10), 1};
constexpr Position kSecond{Lsn(20), 1};

MonotonicTime At(int second) { return MonotonicTime(seconds(1'000 + second)); }

TEST(IsolationTimerTest, NamesTheEventAtWhichTheFlowStoodForTheTime) {
  IsolationTimer timer(seconds(10));
  EXPECT_EQ(timer.Look(kFirst, At(0), At(0)), std::nullopt);
  EXPECT_EQ(timer.Look(kFirst, At(9), At(9)), std::nullopt);
  EXPECT_EQ(timer.Look(kFirst, At(10), At(10)), kFirst);
  EXPECT_EQ(timer.Look(kFirst, At(11), At(11)), std::nullopt) << "once";
}

TEST(IsolationTimerTest, TheTimeBeginsAnewAtAnotherEvent) {
  IsolationTimer timer(seconds(10));
  timer.Look(kFirst, At(0), At(0));
  EXPECT_EQ(timer.Look(kSecond, At(9), At(9)), std::nullopt);
  EXPECT_EQ(timer.Look(kSecond, At(18), At(18)), std::nullopt);
  EXPECT_EQ(timer.Look(kSecond, At(19), At(19)), kSecond);
}

TEST(IsolationTimerTest, AProducerThatIsReplacedDoesNotEndTheTime) {
  IsolationTimer timer(seconds(10));
  timer.Look(kFirst, At(0), At(0));
  EXPECT_EQ(timer.Look(std::nullopt, At(8), At(8)), std::nullopt);
  EXPECT_EQ(timer.Look(kFirst, At(10), At(10)), kFirst);
}

TEST(IsolationTimerTest, NoTopicIsAtFaultWhileTheBrokersAreAway) {
  IsolationTimer timer(seconds(10));
  timer.Look(kFirst, At(0), At(0));
  for (int second = 1; second < 100; ++second) {
    EXPECT_EQ(timer.Look(kFirst, At(0), At(second)), std::nullopt);
  }
  EXPECT_EQ(timer.Look(kFirst, At(100), At(100)), std::nullopt);
  EXPECT_EQ(timer.Look(kFirst, At(109), At(109)), kFirst);
}

TEST(IsolationTimerTest, NoTopicIsAtFaultWhileOthersHaveTheirTurns) {
  IsolationTimer timer(seconds(10));
  timer.Look(kFirst, At(0), At(0));
  timer.OnTurnOfOthers(At(9));
  EXPECT_EQ(timer.Look(kFirst, At(10), At(10)), std::nullopt);
  EXPECT_EQ(timer.Look(kFirst, At(18), At(18)), std::nullopt);
  EXPECT_EQ(timer.Look(kFirst, At(19), At(19)), kFirst);
}

TEST(IsolationTimerTest, ZeroIsNever) {
  IsolationTimer timer(seconds(0));
  timer.Look(kFirst, At(0), At(0));
  EXPECT_EQ(timer.Look(kFirst, At(9'000), At(9'000)), std::nullopt);
}

}  // namespace
}  // namespace walpost
