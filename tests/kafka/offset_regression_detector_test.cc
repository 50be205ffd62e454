#include "kafka/topics/offset_regression_detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(OffsetRegressionDetectorTest, OffsetsThatGrowAreFine) {
  OffsetRegressionDetector watch;
  PartitionOffsets& offsets = watch.Of("orders");
  EXPECT_EQ(offsets.Advance(0, 0), -1);
  EXPECT_EQ(offsets.Advance(0, 1), -1);
  EXPECT_EQ(offsets.Advance(7, 100), -1);
  EXPECT_EQ(offsets.Advance(0, 90), -1);  // transactions of others between
}

TEST(OffsetRegressionDetectorTest, TellsHowManyPartitionsThereWere) {
  PartitionOffsets offsets;
  EXPECT_EQ(offsets.SetCount(4), 0);
  EXPECT_EQ(offsets.SetCount(4), 0);
  EXPECT_EQ(offsets.SetCount(2), 4);
  EXPECT_EQ(offsets.SetCount(2), 0);
}

TEST(OffsetRegressionDetectorTest, P9AnOffsetThatWasGivenBeforeIsNamed) {
  OffsetRegressionDetector watch;
  watch.Of("orders").Advance(2, 41);
  EXPECT_EQ(watch.Of("orders").Advance(2, 41), 41);
  EXPECT_EQ(watch.Of("orders").Advance(2, 0), 41);
  EXPECT_EQ(watch.Of("orders").Advance(1, 0), -1);
  EXPECT_EQ(watch.Of("audit").Advance(2, 0), -1);
}

TEST(OffsetRegressionDetectorTest, P9AddsTheOffsetsOfAnotherClient) {
  PartitionOffsets offsets;
  offsets.Advance(0, 7);
  offsets.Advance(1, 7);
  PartitionOffsets other;
  other.Advance(1, 9);
  other.Advance(2, 5);
  offsets.Add(other);
  EXPECT_THAT(offsets.newest(), ::testing::ElementsAre(7, 9, 5));
  other.Add(offsets);
  EXPECT_EQ(other.Advance(0, 7), 7);
  EXPECT_EQ(other.Advance(2, 6), -1);
}

TEST(OffsetRegressionDetectorTest,
     ANumberOfPartitionsOfAnotherClientIsNotAdded) {
  PartitionOffsets offsets;
  offsets.SetCount(3);
  PartitionOffsets other;
  other.SetCount(6);
  offsets.Add(other);
  EXPECT_EQ(offsets.SetCount(3), 0);
}

TEST(OffsetRegressionDetectorTest, NamesTheTopicsWithAcknowledgedRecords) {
  OffsetRegressionDetector watch;
  EXPECT_THAT(watch.Acknowledged(), ::testing::IsEmpty());
  watch.Of("audit");
  watch.Of("orders").Advance(0, 0);
  EXPECT_THAT(watch.Acknowledged(), ::testing::ElementsAre("orders"));
}

TEST(OffsetRegressionDetectorTest, CountsAcknowledgementsByTopic) {
  OffsetRegressionDetector offsets;
  PartitionOffsets& payments = offsets.Of("payments");
  offsets.Of("orders").Advance(2, 41);
  offsets.Of("orders").Advance(2, 41);  // not a new one
  offsets.Of("orders").Advance(0, 7);
  PartitionOffsets elsewhere;
  elsewhere.Advance(0, 1);
  payments.Add(elsewhere);
  std::vector<std::pair<std::string, uint64_t>> counts;
  offsets.Counts().ForEach([&counts](std::string_view topic, uint64_t count) {
    counts.emplace_back(topic, count);
  });
  EXPECT_EQ(counts, (std::vector<std::pair<std::string, uint64_t>>{
                        {"payments", 0}, {"orders", 2}}));
  offsets.Forget();
  offsets.Counts().ForEach([](std::string_view topic, uint64_t) {
    ADD_FAILURE() << topic << " was forgotten";
  });
}

}  // namespace
}  // namespace walpost
