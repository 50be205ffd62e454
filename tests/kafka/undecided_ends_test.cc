#include "kafka/undecided_ends.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(UndecidedEndsTest, P5APartitionIsDecidedWhenItsStableEndHasPassed) {
  UndecidedEnds ends;
  EXPECT_TRUE(ends.empty());
  ends.Add(0, 10);
  ends.Add(1, 20);
  ends.Observe(0, 10);
  ASSERT_TRUE(ends.First());
  EXPECT_EQ(ends.First()->partition, 1);
  ends.Observe(1, 7);
  EXPECT_EQ(ends.First()->from, 7);
  // A later transaction is open behind the end.
  ends.Observe(1, 25);
  EXPECT_TRUE(ends.empty());
  EXPECT_FALSE(ends.First());
}

TEST(UndecidedEndsTest, AnUnknownPartitionChangesNothing) {
  UndecidedEnds ends;
  ends.Add(0, 10);
  ends.Observe(3, 100);
  EXPECT_FALSE(ends.empty());
}

}  // namespace
}  // namespace walpost
