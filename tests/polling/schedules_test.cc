// Lease, RetrySchedule, RetryState and FetchSizer: when a poller does what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "polling/lease.h"
#include "polling/retry_schedule.h"
#include "polling/retry_state.h"
#include "postgres/tables/fetch_sizer.h"
#include "support/random_seed.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const MonotonicTime kNow{seconds(1000)};

TEST(LeaseTest, IsRenewedAtAThirdAndCalledBackBeforeItEnds) {
  Lease lease(seconds(30));
  lease.OnClaimed(kNow, true);
  EXPECT_EQ(lease.renew_at(), kNow + seconds(10));
  EXPECT_EQ(lease.purge_at(), kNow + seconds(25));
  EXPECT_FALSE(lease.has_ended(kNow + milliseconds(29'999)));
  EXPECT_TRUE(lease.has_ended(kNow + seconds(30)));
}

TEST(LeaseTest, ALaterClaimDoesNotLengthenWhatIsHeld) {
  Lease lease(seconds(30));
  lease.OnClaimed(kNow, true);
  lease.OnClaimed(kNow + seconds(9), false);
  EXPECT_EQ(lease.renew_at(), kNow + seconds(10));
  lease.OnRenewed(kNow + seconds(10));
  EXPECT_EQ(lease.purge_at(), kNow + seconds(35));
  lease.OnClaimed(kNow + seconds(60), true);
  EXPECT_EQ(lease.renew_at(), kNow + seconds(70));
}

TEST(RetryScheduleTest, WaitsLongerEachTimeWithFullJitterUpToTheCap) {
  PollingOptions options;
  options.retry_backoff = milliseconds(100);
  options.retry_backoff_max = milliseconds(1'000);
  const uint64_t seed = testing::RandomSeeds(1).front();
  SCOPED_TRACE(testing::ReplayWith(seed));
  RetrySchedule schedule(options, seed);
  for (uint64_t attempts = 1; attempts < 80; ++attempts) {
    const auto ceiling = attempts < 5 ? 100 * (1 << (attempts - 1)) : 1'000;
    int64_t longest = 0;
    for (int i = 0; i < 40; ++i) {
      const auto decision = schedule.AfterRefusal(attempts, false);
      EXPECT_GE(decision.retry_in.count(), 0);
      EXPECT_LE(decision.retry_in.count(), ceiling) << attempts;
      longest = std::max<int64_t>(longest, decision.retry_in.count());
    }
    EXPECT_GT(longest, ceiling / 2) << attempts;
  }
}

TEST(RetryScheduleTest, GivesUpAtTheCapWhereTheTableCanSaySo) {
  PollingOptions options;
  options.max_attempts = 3;
  RetrySchedule schedule(options, 1);
  EXPECT_FALSE(schedule.AfterRefusal(2, true).give_up);
  EXPECT_TRUE(schedule.AfterRefusal(3, true).give_up);
  EXPECT_TRUE(schedule.AfterRefusal(9, true).give_up);
  EXPECT_FALSE(schedule.AfterRefusal(9, false).give_up);
  options.max_attempts = 0;
  EXPECT_FALSE(RetrySchedule(options, 1).AfterRefusal(99, true).give_up);
}

TEST(RetryStateTest, HoldsARowUntilItsTimeAndCountsItsRefusals) {
  RetryState memory;
  EXPECT_EQ(memory.attempts("a"), 0u);
  memory.OnRefused("a", kNow + seconds(1));
  memory.OnRefused("a", kNow + seconds(2));
  EXPECT_EQ(memory.attempts("a"), 2u);
  EXPECT_THAT(memory.Waiting(kNow + seconds(1)), ElementsAre("a"));
  EXPECT_THAT(memory.Waiting(kNow + seconds(2)), IsEmpty());
  memory.Forget("a");
  EXPECT_EQ(memory.attempts("a"), 0u);
}

TEST(RetryStateTest, ForgetsTheRowThatIsDueFirstWhenItIsFull) {
  RetryState memory;
  for (size_t i = 0; i <= RetryState::kMaxRows; ++i) {
    memory.OnRefused(std::to_string(i), kNow + seconds(i));
  }
  EXPECT_EQ(memory.size(), RetryState::kMaxRows);
  EXPECT_EQ(memory.attempts("0"), 0u);
  EXPECT_EQ(memory.attempts("1"), 1u);
}

TEST(FetchSizerTest, GrowsSlowlyAndShrinksAtOnce) {
  FetchSizer portion(500);
  EXPECT_EQ(portion.rows(), 100u);
  portion.OnRead(100, 100 * 250);
  EXPECT_EQ(portion.rows(), 200u);
  portion.OnRead(200, 200 * 250);
  portion.OnRead(400, 400 * 250);
  EXPECT_EQ(portion.rows(), 500u);
  portion.OnRead(500, 500 * FetchSizer::kBytes);
  EXPECT_EQ(portion.rows(), 1u);
  portion.OnRead(0, 0);
  EXPECT_EQ(portion.rows(), 1u);
}

}  // namespace
}  // namespace walpost
