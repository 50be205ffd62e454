#include "checkpoint/guard_schedule.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::seconds;
using Slots = GuardSchedule::Slots;

MonotonicTime At(int64_t second) { return MonotonicTime(seconds(second)); }

// Where a window of 800 bytes (a step is 100) moves a guard slot to.
std::optional<uint64_t> Move(uint64_t guard, uint64_t confirmed,
                             uint64_t wal_end, uint64_t budget) {
  GuardSchedule schedule({800, {}});
  const auto next = schedule.Next(
      Slots{Lsn(guard), Lsn(confirmed), Lsn(wal_end), budget}, At(1));
  if (!next) return std::nullopt;
  return next->value();
}

TEST(GuardScheduleTest, MovesBehindTheWindowInSteps) {
  EXPECT_EQ(Move(1000, 1800, 1800, 0), std::nullopt);
  EXPECT_EQ(Move(1000, 1899, 1899, 0), std::nullopt);
  EXPECT_EQ(Move(1000, 1900, 1900, 0), 1100u);
  EXPECT_EQ(Move(1000, 5000, 5000, 0), 4200u);
}

TEST(GuardScheduleTest, StaysWhereThereIsLessThanAWindow) {
  EXPECT_EQ(Move(10, 500, 500, 0), std::nullopt);
  // The live slot was created again, before the guard slot.
  EXPECT_EQ(Move(5000, 2000, 9000, 0), std::nullopt);
}

TEST(GuardScheduleTest, NeverMovesPastWhatIsConfirmed) {
  EXPECT_EQ(Move(1000, 2000, 900'000, 1000), 2000u);
  EXPECT_EQ(Move(2000, 2000, 900'000, 1000), std::nullopt);
}

TEST(GuardScheduleTest, GivesWayToTheBudgetWhenTheLiveSlotLags) {
  // Half of the budget is 1000: 300 of lag leave 700, less a step.
  EXPECT_EQ(Move(1000, 2000, 2300, 2000), 1400u);
  EXPECT_EQ(Move(1000, 2000, 2300, 8000), 1200u);
}

TEST(GuardScheduleTest, KeepsTheSlotWithinHalfTheBudget) {
  GuardSchedule schedule({1'000'000, {}});
  uint64_t guard = 10'000'000;
  for (uint64_t end = guard; end < 30'000'000; end += 10'000) {
    if (const auto next =
            schedule.Next({Lsn(guard), Lsn(end), Lsn(end), 1'500'000}, At(1))) {
      EXPECT_GE(next->value(), guard);
      guard = next->value();
    }
    EXPECT_LE(end - guard, 750'000u);
  }
  EXPECT_TRUE(schedule.is_cut_short());
  EXPECT_GT(guard, 29'000'000u);
}

TEST(GuardScheduleTest, SaysWhenTheBudgetCutsTheWindowShort) {
  GuardSchedule schedule({800, {}});
  schedule.Next({Lsn(1000), Lsn(5000), Lsn(5000), 1700}, At(1));
  EXPECT_FALSE(schedule.is_cut_short());
  schedule.Next({Lsn(1000), Lsn(5000), Lsn(5000), 1000}, At(2));
  EXPECT_TRUE(schedule.is_cut_short());
}

TEST(GuardScheduleTest, KeepsWhatWasConfirmedWithinTheTime) {
  GuardSchedule schedule({800, seconds(160)});
  // 100 bytes a second; for the first 160 s the past is not known.
  for (int64_t now = 0; now < 160; ++now) {
    const Lsn end(static_cast<uint64_t>(10'000 + 100 * now));
    EXPECT_EQ(schedule.Next({Lsn(9000), end, end, 0}, At(now)), std::nullopt);
  }
  uint64_t guard = 9000;
  for (int64_t now = 160; now < 1000; ++now) {
    const Lsn end(static_cast<uint64_t>(10'000 + 100 * now));
    const auto next = schedule.Next({Lsn(guard), end, end, 0}, At(now));
    if (next) guard = next->value();
    EXPECT_GE(end.value() - guard, 16'000u) << now;
    EXPECT_LE(end.value() - guard, 17'200u) << now;
  }
}

TEST(GuardScheduleTest, KeepsTheBytesWhenTheTimeWouldKeepLess) {
  GuardSchedule schedule({800, seconds(16)});
  const Lsn end(5000);
  schedule.Next({Lsn(1000), end, end, 0}, At(0));
  EXPECT_EQ(schedule.Next({Lsn(1000), end, end, 0}, At(100)), Lsn(4200));
}

TEST(GuardScheduleTest, TheBudgetComesBeforeTheTime) {
  GuardSchedule schedule({800, seconds(3600)});
  EXPECT_EQ(schedule.Next({Lsn(1000), Lsn(9000), Lsn(9000), 4000}, At(0)),
            Lsn(7100));
}

TEST(GuardScheduleTest, AdvancesALongWayInSeveralGoes) {
  const uint64_t most = GuardSchedule::kMaxPerAdvance;
  EXPECT_EQ(Move(1000, 5 * most, 5 * most, 0), 1000 + most);
}

}  // namespace
}  // namespace walpost
