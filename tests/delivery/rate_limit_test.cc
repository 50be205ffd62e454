#include "delivery/rate_limit.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::milliseconds;

// How many are taken within so many milliseconds, each looked at.
uint64_t TakenWithin(RateLimit& limit, int64_t from, int64_t to) {
  uint64_t taken = 0;
  for (int64_t at = from; at < to; ++at) {
    const MonotonicTime now{milliseconds(at)};
    while (limit.MayTake(now)) {
      limit.Take(now);
      ++taken;
    }
  }
  return taken;
}

TEST(RateLimitTest, GivesSoManyASecond) {
  RateLimit limit(500);
  EXPECT_NEAR(static_cast<double>(TakenWithin(limit, 5'000, 15'000)), 5'000,
              51);
}

TEST(RateLimitTest, DoesNotMakeUpForALongPause) {
  RateLimit limit(1000);
  TakenWithin(limit, 1'000, 2'000);
  EXPECT_LE(TakenWithin(limit, 60'000, 60'001), 101u);
}

TEST(RateLimitTest, GivesLessThanOneAtATimeWhenSlow) {
  RateLimit limit(1);
  EXPECT_EQ(TakenWithin(limit, 10'000, 15'000), 6u);  // one early
}

TEST(RateLimitTest, ZeroIsNoLimit) {
  RateLimit limit(0);
  const MonotonicTime now{milliseconds(1000)};
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(limit.MayTake(now));
    limit.Take(now);
  }
}

}  // namespace
}  // namespace walpost
