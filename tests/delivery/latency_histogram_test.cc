#include "delivery/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "support/random_seed.h"

namespace walpost {
namespace {

using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(LatencyHistogramTest, BucketsGrowFrom100MicrosecondsToTwoMinutes) {
  EXPECT_EQ(LatencyHistogram::UpperBound(0), microseconds(100));
  EXPECT_EQ(LatencyHistogram::UpperBound(2), microseconds(200));
  const auto last =
      LatencyHistogram::UpperBound(LatencyHistogram::kBuckets - 1);
  EXPECT_GT(last, minutes(2));
  EXPECT_LT(last, minutes(3));
  for (size_t i = 1; i < LatencyHistogram::kBuckets; ++i) {
    const auto one = LatencyHistogram::UpperBound(i - 1);
    const auto next = LatencyHistogram::UpperBound(i);
    EXPECT_GT(next, one);
    EXPECT_LT(next, one * 3 / 2);
  }
}

TEST(LatencyHistogramTest, ABoundBelongsToItsOwnBucket) {
  LatencyHistogram histogram;
  histogram.Record(microseconds(100));
  histogram.Record(microseconds(101));
  EXPECT_EQ(histogram.bucket(0), 1u);
  EXPECT_EQ(histogram.bucket(1), 1u);
}

TEST(LatencyHistogramTest, TakesEveryDuration) {
  LatencyHistogram histogram;
  histogram.Record(microseconds(-5));  // clocks disagree
  histogram.Record(microseconds(0));
  histogram.Record(std::chrono::hours(1000));
  histogram.Record(microseconds::max() / 2);
  EXPECT_EQ(histogram.bucket(0), 2u);
  EXPECT_EQ(histogram.bucket(LatencyHistogram::kBuckets - 1), 2u);
  EXPECT_EQ(histogram.count(), 4u);
  EXPECT_EQ(histogram.sum(), std::chrono::hours(1000) + microseconds::max() / 2)
      << "a negative latency counts as none";
}

TEST(LatencyHistogramTest, AQuantileOfNothingIsZero) {
  EXPECT_EQ(LatencyHistogram().Quantile(0.99), microseconds(0));
}

TEST(LatencyHistogramTest, QuantilesAreUpperBoundsOfTheirBucket) {
  LatencyHistogram histogram;
  for (int i = 0; i < 99; ++i) histogram.Record(microseconds(90));
  histogram.Record(seconds(1));
  EXPECT_EQ(histogram.Quantile(0.5), microseconds(100));
  EXPECT_EQ(histogram.Quantile(0.99), microseconds(100));
  EXPECT_GE(histogram.Quantile(0.999), seconds(1));
  EXPECT_GE(histogram.Quantile(1), seconds(1));
  EXPECT_EQ(histogram.Quantile(0), microseconds(100));
}

TEST(LatencyHistogramTest, QuantilesAreNeverTooSmallAndAtMostAHalfTooLarge) {
  for (const uint64_t seed : testing::RandomSeeds(20)) {
    SCOPED_TRACE(testing::ReplayWith(seed));
    testing::Random random(seed);
    LatencyHistogram histogram;
    std::vector<microseconds> latencies;
    for (int i = 0; i < 500; ++i) {
      latencies.emplace_back(random.Between(100, 100'000'000) >>
                             random.Below(20));
      histogram.Record(latencies.back());
    }
    std::ranges::sort(latencies);
    for (const double fraction : {0.01, 0.5, 0.9, 0.99, 1.0}) {
      const auto rank = static_cast<size_t>(
          std::ceil(fraction * static_cast<double>(latencies.size())));
      const microseconds truth = latencies[rank - 1];
      const microseconds told = histogram.Quantile(fraction);
      EXPECT_GE(told, truth) << fraction;
      EXPECT_LE(told, std::max(microseconds(100), truth * 3 / 2)) << fraction;
    }
  }
}

TEST(LatencyHistogramTest, SinceGivesWhatWasRecordedInBetween) {
  LatencyHistogram histogram;
  histogram.Record(seconds(1));
  const LatencyHistogram earlier = histogram;
  histogram.Record(microseconds(50));
  const LatencyHistogram since = histogram.Since(earlier);
  EXPECT_EQ(since.count(), 1u);
  EXPECT_EQ(since.sum(), microseconds(50));
  EXPECT_EQ(since.Quantile(1), microseconds(100));
}

}  // namespace
}  // namespace walpost
