#include "kafka/transactions/open_transaction_offsets.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(OpenTransactionOffsetsTest,
     P5APartitionIsDecidedWhenItsStableEndHasPassed) {
  OpenTransactionOffsets ends;
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

TEST(OpenTransactionOffsetsTest, AnUnknownPartitionChangesNothing) {
  OpenTransactionOffsets ends;
  ends.Add(0, 10);
  ends.Observe(3, 100);
  EXPECT_FALSE(ends.empty());
}

}  // namespace
}  // namespace walpost
