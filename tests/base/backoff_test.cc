#include "base/backoff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace walpost {
namespace {

using std::chrono::milliseconds;

Backoff::Options ManualOptions() {
  Backoff::Options options;
  options.initial = milliseconds(100);
  options.cap = milliseconds(10'000);
  options.least = milliseconds(20);
  return options;
}

// The n-th wait of many instances, whose seeds are as random as those that
// std::random_device gives.
std::vector<milliseconds> NthWaits(int n) {
  std::vector<milliseconds> waits;
  for (uint64_t instance = 1; instance <= 500; ++instance) {
    Backoff backoff(ManualOptions(), instance * 0x9E3779B97F4A7C15 >> 32);
    for (int i = 0; i < n; ++i) backoff.Next();
    waits.push_back(backoff.Next());
  }
  return waits;
}

TEST(BackoffTest, DoublesItsCeilingUpToTheCap) {
  for (int n = 0; n < 12; ++n) {
    const milliseconds ceiling =
        std::min(milliseconds(10'000), milliseconds(100) * (1 << n));
    const std::vector<milliseconds> waits = NthWaits(n);
    const milliseconds longest = *std::ranges::max_element(waits);
    EXPECT_LE(longest, ceiling) << n;
    EXPECT_GE(longest, ceiling * 9 / 10) << n << ": not the full range";
  }
}

TEST(BackoffTest, NeverWaitsLessThanTheLeast) {
  for (const int n : {0, 1, 5}) {
    const std::vector<milliseconds> waits = NthWaits(n);
    EXPECT_GE(*std::ranges::min_element(waits), milliseconds(20));
  }
}

TEST(BackoffTest, DrawsTheWholeRangeSoThatInstancesPart) {
  std::vector<milliseconds> waits = NthWaits(7);
  std::ranges::nth_element(waits, waits.begin() + 250);
  EXPECT_GT(waits[250], milliseconds(3'500));
  EXPECT_LT(waits[250], milliseconds(6'500));
  EXPECT_LT(*std::ranges::min_element(waits), milliseconds(500));
}

TEST(BackoffTest, ResetStartsFromInitialAgain) {
  Backoff backoff(ManualOptions(), 1);
  for (int i = 0; i < 10; ++i) backoff.Next();
  backoff.Reset();
  EXPECT_LE(backoff.Next(), milliseconds(100));
}

TEST(BackoffTest, EqualSeedsGiveEqualWaits) {
  Backoff one(ManualOptions(), 42);
  Backoff other(ManualOptions(), 42);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(one.Next(), other.Next());
}

TEST(BackoffTest, GoesOnForeverWithoutOverflow) {
  Backoff backoff(ManualOptions(), 3);
  for (int i = 0; i < 10'000; ++i) {
    const milliseconds wait = backoff.Next();
    ASSERT_GE(wait, milliseconds(20));
    ASSERT_LE(wait, milliseconds(10'000));
  }
}

TEST(BackoffTest, OffersTheLeastWhenTheCapIsBelowIt) {
  Backoff backoff({milliseconds(1), milliseconds(5), milliseconds(20)}, 1);
  EXPECT_EQ(backoff.Next(), milliseconds(20));
}

}  // namespace
}  // namespace walpost
