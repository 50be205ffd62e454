#include "health/wal_budget.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::seconds;
using Level = WalBudget::Level;

constexpr uint64_t kGiB = uint64_t{1} << 30;

MonotonicTime At(int64_t second) { return MonotonicTime(seconds(second)); }

TEST(WalBudgetTest, IsFineBeforeTheFirstReport) {
  const WalBudget budget(0);
  EXPECT_EQ(budget.level(), Level::kFine);
  EXPECT_EQ(budget.limit_bytes(), 0u);
  EXPECT_EQ(budget.time_left(), std::nullopt);
}

TEST(WalBudgetTest, WarnsAtHalfAndIsAtRiskAtFourFifths) {
  struct Row {
    uint64_t retained;
    Level level;
  };
  for (const Row& row : {Row{0, Level::kFine}, Row{499, Level::kFine},
                         Row{500, Level::kWarning}, Row{799, Level::kWarning},
                         Row{800, Level::kAtRisk}, Row{5000, Level::kAtRisk}}) {
    WalBudget budget(1000);
    budget.OnReport({row.retained, std::nullopt}, At(1));
    EXPECT_EQ(budget.level(), row.level) << row.retained;
  }
}

TEST(WalBudgetTest, TakesTheServersLimitWithoutOneOfItsOwn) {
  WalBudget budget(0);
  budget.OnReport({700, 300}, At(1));
  EXPECT_EQ(budget.limit_bytes(), 1000u);
  EXPECT_EQ(budget.level(), Level::kWarning);
}

TEST(WalBudgetTest, TheSmallerOfTwoLimitsCounts) {
  WalBudget budget(10'000);
  budget.OnReport({900, 100}, At(1));
  EXPECT_EQ(budget.limit_bytes(), 1000u);
  WalBudget tight(1000);
  tight.OnReport({900, 100'000}, At(1));
  EXPECT_EQ(tight.limit_bytes(), 1000u);
}

TEST(WalBudgetTest, ASlotThatIsOverTheServersLimitIsAtRisk) {
  WalBudget budget(0);
  budget.OnReport({5000, -400}, At(1));
  EXPECT_EQ(budget.level(), Level::kAtRisk);
}

TEST(WalBudgetTest, AServerWithoutALimitHasADisk) {
  WalBudget budget(0);
  budget.OnReport({kGiB, std::nullopt}, At(1));
  EXPECT_EQ(budget.limit_bytes(), WalBudget::kDefaultLimit);
  EXPECT_EQ(budget.level(), Level::kFine);
  budget.OnReport({15 * kGiB, std::nullopt}, At(2));
  EXPECT_EQ(budget.level(), Level::kAtRisk);
}

TEST(WalBudgetTest, ForeseesWhenSteadyGrowthReachesTheLimit) {
  WalBudget budget(100'000);
  for (int second = 0; second <= 300; second += 2) {
    budget.OnReport({static_cast<uint64_t>(second) * 100, std::nullopt},
                    At(second));
  }
  // 30,000 retained, 70,000 left, 100 a second.
  ASSERT_TRUE(budget.time_left().has_value());
  EXPECT_NEAR(static_cast<double>(budget.time_left()->count()), 700, 5);
}

TEST(WalBudgetTest, ForeseesNothingWhileRetainedWalShrinksOrStands) {
  WalBudget budget(100'000);
  for (int second = 0; second <= 60; second += 2) {
    budget.OnReport(
        {50'000 - static_cast<uint64_t>(second) * 100, std::nullopt},
        At(second));
  }
  EXPECT_EQ(budget.time_left(), std::nullopt);
}

TEST(WalBudgetTest, NoTimeIsLeftPastTheLimit) {
  WalBudget budget(1000);
  budget.OnReport({500, std::nullopt}, At(0));
  budget.OnReport({5000, std::nullopt}, At(2));
  EXPECT_EQ(budget.time_left(), seconds(0));
}

}  // namespace
}  // namespace walpost
