#include "kafka/offset_watch.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(OffsetWatchTest, OffsetsThatGrowAreFine) {
  OffsetWatch watch;
  PartitionOffsets& offsets = watch.Of("orders");
  EXPECT_EQ(offsets.Advance(0, 0), -1);
  EXPECT_EQ(offsets.Advance(0, 1), -1);
  EXPECT_EQ(offsets.Advance(7, 100), -1);
  EXPECT_EQ(offsets.Advance(0, 90), -1);  // transactions of others between
}

TEST(OffsetWatchTest, TellsHowManyPartitionsThereWere) {
  PartitionOffsets offsets;
  EXPECT_EQ(offsets.SetCount(4), 0);
  EXPECT_EQ(offsets.SetCount(4), 0);
  EXPECT_EQ(offsets.SetCount(2), 4);
  EXPECT_EQ(offsets.SetCount(2), 0);
}

TEST(OffsetWatchTest, P9AnOffsetThatWasGivenBeforeIsNamed) {
  OffsetWatch watch;
  watch.Of("orders").Advance(2, 41);
  EXPECT_EQ(watch.Of("orders").Advance(2, 41), 41);
  EXPECT_EQ(watch.Of("orders").Advance(2, 0), 41);
  EXPECT_EQ(watch.Of("orders").Advance(1, 0), -1);
  EXPECT_EQ(watch.Of("audit").Advance(2, 0), -1);
}

}  // namespace
}  // namespace walpost
