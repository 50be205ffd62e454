#include "health/read_lag.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

constexpr MonotonicTime At(int seconds_after) {
  return MonotonicTime(seconds(1000 + seconds_after));
}

TEST(ReadLagTest, IsZeroAtTheEndHoweverOldTheNewestEventIs) {
  ReadLag lag(At(0));
  lag.Look(Lsn(100), Lsn(100), At(1));
  EXPECT_EQ(lag.Length(At(2), hours(5)), microseconds(0));
  EXPECT_EQ(lag.Length(At(2), std::nullopt), microseconds(0));
}

TEST(ReadLagTest, OfABacklogIsTheAgeOfTheNewestCommit) {
  ReadLag lag(At(0));
  lag.Look(Lsn(10), Lsn(100), At(1));
  EXPECT_EQ(lag.Length(At(1), hours(5)), hours(5));
  lag.Look(Lsn(50), Lsn(100), At(2));
  EXPECT_EQ(lag.Length(At(2), hours(2)), hours(2));
}

TEST(ReadLagTest, GrowsWhileNothingIsRead) {
  ReadLag lag(At(0));
  lag.Look(Lsn(100), Lsn(100), At(1));
  lag.Look(Lsn(100), Lsn(200), At(5));
  EXPECT_EQ(lag.Length(At(6), hours(5)), seconds(5));
  lag.Look(Lsn(100), Lsn(900), At(60));
  EXPECT_EQ(lag.Length(At(61), hours(5)), seconds(60));
}

TEST(ReadLagTest, GrowsWhileTheServerReportsNothing) {
  ReadLag lag(At(0));
  lag.Look(Lsn(100), Lsn(100), At(1));
  EXPECT_EQ(lag.Length(At(9), hours(5)), microseconds(0));
  EXPECT_EQ(lag.Length(At(31), hours(5)), seconds(30));
}

TEST(ReadLagTest, BeforeTheFirstEndItCountsFromTheBeginning) {
  ReadLag lag(At(0));
  EXPECT_EQ(lag.Length(At(7), std::nullopt), seconds(7));
  lag.Look(Lsn(10), Lsn(100), At(8));
  EXPECT_EQ(lag.Length(At(9), std::nullopt), seconds(9));
}

TEST(ReadLagTest, StaysShortIfTheEndMovesWhileItIsApproached) {
  ReadLag lag(At(0));
  lag.Look(Lsn(100), Lsn(100), At(0));
  for (int i = 1; i < 100; ++i) {
    // Three seconds behind.
    lag.Look(Lsn(100 * i), Lsn(100 * (i + 3)), At(i));
    EXPECT_LE(lag.Length(At(i), hours(5)), seconds(6)) << i;
  }
}

TEST(ReadLagTest, AnotherServerBeginsFromNothing) {
  ReadLag lag(At(0));
  lag.Look(Lsn(100), Lsn(100), At(1));
  lag.StartOver(At(2));
  EXPECT_EQ(lag.Length(At(5), std::nullopt), seconds(3));
}

TEST(ReadLagTest, ACommitOfTheFutureHasNoAge) {
  ReadLag lag(At(0));
  lag.Look(Lsn(10), Lsn(100), At(1));
  EXPECT_EQ(lag.Length(At(1), seconds(-3)), microseconds(0));
}

}  // namespace
}  // namespace walpost
