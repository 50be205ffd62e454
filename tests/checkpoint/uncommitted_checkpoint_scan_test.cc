#include "checkpoint/uncommitted_checkpoint_scan.h"

#include <gtest/gtest.h>

#include <vector>

namespace walpost {
namespace {

struct Case {
  const char* name;
  std::vector<std::string> keys;
  bool must_wait;
};

class UncommittedCheckpointScanTest : public ::testing::TestWithParam<Case> {};

TEST_P(UncommittedCheckpointScanTest, OursBehindAnotherTransactionAreAwaited) {
  UncommittedCheckpointScan hidden("orders", {"7", false});
  for (const std::string& key : GetParam().keys) hidden.Add(key);
  EXPECT_EQ(hidden.must_wait(), GetParam().must_wait);
}

INSTANTIATE_TEST_SUITE_P(
    All, UncommittedCheckpointScanTest,
    ::testing::Values(
        Case{"Nothing", {}, false},
        Case{"OthersOnly", {"bills@7", "orders@8"}, false},
        Case{"OursBehindAnother", {"bills@7", "orders@7"}, true},
        Case{"OursBehindTheSameSlotElsewhere", {"orders@8", "orders@7"}, true},
        Case{"OursOfAnOlderRelease", {"bills@7", "orders"}, true},
        Case{"OurOwnTransaction", {"orders@7"}, false},
        Case{"OurOwnTransactionAndOthers", {"orders@7", "bills@7"}, false},
        Case{"OursBehindOurOwnTransaction",
             {"orders@7", "bills@7", "orders@7"},
             true},
        // Older releases know no transactions.
        Case{"TheKeyOfAnOlderReleaseFirst", {"orders", "orders@7"}, true}),
    [](const ::testing::TestParamInfo<Case>& its) { return its.param.name; });

TEST(UncommittedCheckpointScanTest, WithoutASystemEverySystemMayBeOurs) {
  UncommittedCheckpointScan hidden("orders", {});
  hidden.Add("orders@8");
  EXPECT_TRUE(hidden.must_wait());
}

}  // namespace
}  // namespace walpost
