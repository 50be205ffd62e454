#include "health/parking_report.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

// The table is counted a moment after the event was parked.
TEST(ParkingReportTest, AKeyThatIsNotCountedYetHasAnEvent) {
  ParkingReport report;
  report.keys = 3;
  report.events = 7;  // of two keys
  report.dead = 2;
  report.AddUncounted(2);
  EXPECT_EQ(report.events, 8u);
  EXPECT_EQ(report.dead, 3u);
}

TEST(ParkingReportTest, AKeyThatWasReleasedSinceAddsNothing) {
  ParkingReport report;
  report.keys = 1;
  report.events = 7;
  report.dead = 2;
  report.AddUncounted(2);
  EXPECT_EQ(report.events, 7u);
  EXPECT_EQ(report.dead, 2u);
}

}  // namespace
}  // namespace walpost
