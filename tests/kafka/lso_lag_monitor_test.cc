#include "kafka/topics/lso_lag_monitor.h"

#include <gtest/gtest.h>

#include "kafka/topics/offset_regression_detector.h"

namespace walpost {
namespace {

using std::chrono::seconds;

constexpr MonotonicTime kStart{};
const LsoLagMonitor::Place kOrders{"orders", 0};
const LsoLagMonitor::Place kInvoices{"invoices", 3};

TEST(LsoLagMonitorTest, NothingIsHiddenBelowTheStableEnd) {
  LsoLagMonitor hidden;
  hidden.Observe(kOrders, 8, 7, kStart);
  EXPECT_FALSE(hidden.Longest());
}

TEST(LsoLagMonitorTest, P10TheWaitBeginsWithTheFirstLookAtAnOffset) {
  LsoLagMonitor hidden;
  hidden.Observe(kOrders, 7, 7, kStart);
  hidden.Observe(kInvoices, 1, 5, kStart + seconds(10));
  hidden.Observe(kOrders, 7, 90, kStart + seconds(20));
  auto longest = hidden.Longest();
  ASSERT_TRUE(longest);
  EXPECT_EQ(longest->first, kOrders);
  EXPECT_EQ(longest->second.from, 7);
  EXPECT_EQ(longest->second.since, kStart);
  // Another transaction is open there now.
  hidden.Observe(kOrders, 80, 90, kStart + seconds(30));
  longest = hidden.Longest();
  ASSERT_TRUE(longest);
  EXPECT_EQ(longest->first, kInvoices);
  hidden.Observe(kInvoices, 6, 5, kStart + seconds(40));
  longest = hidden.Longest();
  ASSERT_TRUE(longest);
  EXPECT_EQ(longest->first, kOrders);
  EXPECT_EQ(longest->second.since, kStart + seconds(30));
  hidden.Forget();
  EXPECT_FALSE(hidden.Longest());
}

TEST(OffsetRegressionDetectorTest,
     TheNewestOffsetsAreThoseOfPartitionsWithRecords) {
  OffsetRegressionDetector offsets;
  offsets.Of("orders").Advance(2, 7);
  offsets.Of("empty");
  EXPECT_EQ(offsets.Newest("orders", 2), 7);
  EXPECT_EQ(offsets.Newest("orders", 1), -1);
  EXPECT_EQ(offsets.Newest("orders", 3), -1);
  EXPECT_EQ(offsets.Newest("invoices", 0), -1);
  int visits = 0;
  offsets.ForEach([&](const std::string& topic, int32_t partition, int64_t at) {
    ++visits;
    EXPECT_EQ(topic, "orders");
    EXPECT_EQ(partition, 2);
    EXPECT_EQ(at, 7);
  });
  EXPECT_EQ(visits, 1);
}

}  // namespace
}  // namespace walpost
