#include "base/near_limit.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(NearLimitTest, SaysOnceThatEightyPercentAreReached) {
  NearLimit near;
  EXPECT_FALSE(near.HasCome(0, 10));
  EXPECT_FALSE(near.HasCome(7, 10));
  EXPECT_TRUE(near.HasCome(8, 10));
  EXPECT_FALSE(near.HasCome(9, 10));
  EXPECT_FALSE(near.HasCome(10, 10));
}

TEST(NearLimitTest, SaysItAgainAfterItWasAwayFromIt) {
  NearLimit near;
  EXPECT_TRUE(near.HasCome(9, 10));
  EXPECT_FALSE(near.HasCome(3, 10));
  EXPECT_TRUE(near.HasCome(8, 10));
}

TEST(NearLimitTest, ALimitOfOneIsNearWhenItIsReached) {
  NearLimit near;
  EXPECT_FALSE(near.HasCome(0, 1));
  EXPECT_TRUE(near.HasCome(1, 1));
}

}  // namespace
}  // namespace walpost
