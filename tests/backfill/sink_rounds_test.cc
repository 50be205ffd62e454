#include "backfill/sink_rounds.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(SinkRoundsTest, EndAfterSoManySinksWithoutProgress) {
  SinkRounds rounds;
  for (int i = 0; i < SinkRounds::kMax; ++i) EXPECT_TRUE(rounds.MayBegin(0));
  EXPECT_FALSE(rounds.MayBegin(0));
}

TEST(SinkRoundsTest, EachEventThatIsHandledBeginsThemAgain) {
  SinkRounds rounds;
  for (uint64_t handled = 0; handled < 100; ++handled) {
    for (int i = 0; i < SinkRounds::kMax; ++i) {
      ASSERT_TRUE(rounds.MayBegin(handled));
    }
  }
  EXPECT_FALSE(rounds.MayBegin(99));
}

}  // namespace
}  // namespace walpost
