#include "base/time.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace walpost {
namespace {

using std::chrono::microseconds;
using std::chrono::sys_days;
using std::chrono::year;

TEST(TimeTest, PostgresCountsFromTheYear2000) {
  EXPECT_EQ(FromPostgresMicros(0), WallTime(sys_days(year(2000) / 1 / 1)));
  EXPECT_EQ(ToPostgresMicros(WallTime(sys_days(year(2000) / 1 / 1))), 0);
}

TEST(TimeTest, KeepsMicroseconds) {
  const WallTime time =
      sys_days(year(2024) / 2 / 29) + microseconds(86'399'999'999);
  EXPECT_EQ(FromPostgresMicros(ToPostgresMicros(time)), time);
  EXPECT_EQ(FromPostgresMicros(1).time_since_epoch() % microseconds(1'000'000),
            microseconds(1));
}

TEST(TimeTest, GoesBeforeTheYear2000) {
  EXPECT_EQ(FromPostgresMicros(-1),
            WallTime(sys_days(year(2000) / 1 / 1)) - microseconds(1));
}

TEST(TimeTest, TakesAnySixtyFourBits) {
  for (const int64_t micros :
       {INT64_MIN, INT64_MIN + 1, int64_t{-1}, INT64_MAX - 1, INT64_MAX}) {
    EXPECT_EQ(ToPostgresMicros(FromPostgresMicros(micros)), micros);
  }
}

}  // namespace
}  // namespace walpost
