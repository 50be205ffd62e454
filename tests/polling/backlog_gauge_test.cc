#include "polling/backlog_gauge.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr MonotonicTime kNow{seconds(100)};

TEST(BacklogGaugeTest, TellsWhatWasRead) {
  BacklogGauge gauge("public.outbox");
  gauge.OnReading({7, 2, "a", milliseconds(1500)}, kNow);
  EXPECT_EQ(gauge.report().table, "public.outbox");
  EXPECT_EQ(gauge.report().pending, 7u);
  EXPECT_EQ(gauge.report().failed, 2u);
  EXPECT_EQ(gauge.report().oldest_pending, milliseconds(1500));
}

TEST(BacklogGaugeTest, TellsHowLongAgoItWasRead) {
  BacklogGauge gauge("t");
  EXPECT_EQ(gauge.ReportAt(kNow).look_age, std::nullopt);
  gauge.OnReading({}, kNow);
  EXPECT_EQ(gauge.ReportAt(kNow + seconds(3)).look_age, seconds(3));
}

TEST(BacklogGaugeTest, NothingPendingHasNoAge) {
  BacklogGauge gauge("t");
  gauge.OnReading({1, 0, "a", milliseconds(1500)}, kNow);
  gauge.OnReading({}, kNow);
  EXPECT_FALSE(gauge.report().oldest_pending.has_value());
}

TEST(BacklogGaugeTest, WithoutAClockARowIsAsOldAsItHasBeenTheFirst) {
  BacklogGauge gauge("t");
  gauge.OnReading({2, 0, "a", {}}, kNow);
  EXPECT_EQ(gauge.report().oldest_pending, milliseconds(0));
  gauge.OnReading({2, 0, "a", {}}, kNow + seconds(5));
  EXPECT_EQ(gauge.report().oldest_pending, seconds(5));
  gauge.OnReading({1, 0, "b", {}}, kNow + seconds(10));
  EXPECT_EQ(gauge.report().oldest_pending, seconds(0));
  gauge.OnReading({0, 0, {}, {}}, kNow + seconds(15));
  gauge.OnReading({1, 0, "b", {}}, kNow + seconds(20));
  EXPECT_EQ(gauge.report().oldest_pending, seconds(0)) << "it came anew";
}

}  // namespace
}  // namespace walpost
