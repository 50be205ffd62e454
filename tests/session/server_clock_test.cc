#include "session/server_clock.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::seconds;

constexpr WallTime kSent{seconds(1'700'000'000)};
constexpr MonotonicTime kReceived{seconds(50)};

TEST(ServerClockTest, KnowsNothingBeforeTheServerHasSent) {
  EXPECT_EQ(ServerClock().Now(kReceived), std::nullopt);
}

TEST(ServerClockTest, GoesOnFromWhatTheServerHasSent) {
  ServerClock clock;
  clock.OnSent(kSent, kReceived);
  EXPECT_EQ(clock.Now(kReceived + seconds(3)), kSent + seconds(3));
  EXPECT_EQ(clock.heard_at(), kReceived);
}

TEST(ServerClockTest, TheFrameWithTheLeastDelayCounts) {
  ServerClock clock;
  clock.OnSent(kSent, kReceived + seconds(2));
  clock.OnSent(kSent + seconds(1), kReceived + seconds(1));
  clock.OnSent(kSent + seconds(2), kReceived + seconds(9));
  EXPECT_EQ(clock.Now(kReceived + seconds(10)), kSent + seconds(10));
  EXPECT_EQ(clock.heard_at(), kReceived + seconds(9));
}

TEST(ServerClockTest, AnotherServerHasAnotherClock) {
  ServerClock clock;
  clock.OnSent(kSent, kReceived);
  clock.Reset();
  EXPECT_EQ(clock.Now(kReceived), std::nullopt);
  EXPECT_EQ(clock.heard_at(), kReceived);
}

}  // namespace
}  // namespace walpost
