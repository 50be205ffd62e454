#include "kafka/producer/first_record_barrier.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

constexpr int32_t kUnassigned = FirstRecordBarrier::kUnassigned;

TEST(FirstRecordBarrierTest, TheFirstRecordOfEachPartitionGoesAlone) {
  FirstRecordBarrier starts;
  ASSERT_TRUE(starts.MayProduce(0));
  starts.OnProduced(0, 10);
  EXPECT_FALSE(starts.MayProduce(0));
  EXPECT_TRUE(starts.MayProduce(1)) << "another partition does not wait";
  starts.OnProduced(1, 11);
  EXPECT_FALSE(starts.MayProduce(1));

  starts.OnAcknowledged(0, 10);
  EXPECT_TRUE(starts.MayProduce(0));
  starts.OnProduced(0, 12);
  EXPECT_TRUE(starts.MayProduce(0)) << "it has started";
  EXPECT_FALSE(starts.MayProduce(1));
  EXPECT_FALSE(starts.AllStarted(2));
  starts.OnAcknowledged(1, 11);
  EXPECT_TRUE(starts.AllStarted(2));
  EXPECT_FALSE(starts.AllStarted(3)) << "a partition was added";
}

TEST(FirstRecordBarrierTest, OnlyTheFirstRecordOfAFirstRecordBarrierIt) {
  FirstRecordBarrier starts;
  starts.OnProduced(0, 10);
  starts.OnAcknowledged(0, 9);  // of a record without a key
  EXPECT_FALSE(starts.MayProduce(0));
}

TEST(FirstRecordBarrierTest, OfAnUnknownTopicOneRecordGoes) {
  FirstRecordBarrier starts;
  ASSERT_TRUE(starts.MayProduce(kUnassigned));
  EXPECT_FALSE(starts.AllStarted(0));
  starts.OnProduced(kUnassigned, 10);
  EXPECT_FALSE(starts.MayProduce(kUnassigned));
  EXPECT_FALSE(starts.MayProduce(3)) << "it may be that one's partition";
  starts.OnAcknowledged(3, 10);
  EXPECT_TRUE(starts.MayProduce(3));
  EXPECT_TRUE(starts.MayProduce(0));
  starts.OnProduced(3, 11);
  EXPECT_TRUE(starts.MayProduce(3)) << "it has started";
}

TEST(FirstRecordBarrierTest, AFirstRecordThatWentElsewhereHoldsNothingUp) {
  FirstRecordBarrier starts;
  starts.OnProduced(0, 10);  // while a partition was added
  starts.OnAcknowledged(4, 10);
  EXPECT_TRUE(starts.MayProduce(0));
  starts.OnProduced(0, 11);
  EXPECT_FALSE(starts.MayProduce(0)) << "it has not started";
  EXPECT_TRUE(starts.MayProduce(4));
}

TEST(FirstRecordBarrierTest, APartitionThatHasStartedWaitsForNothing) {
  FirstRecordBarrier starts;
  starts.OnProduced(0, 10);
  starts.OnProduced(0, 11);  // went there while partitions were added
  starts.OnAcknowledged(0, 10);
  EXPECT_TRUE(starts.MayProduce(0));
  starts.OnProduced(kUnassigned, 12);
  EXPECT_TRUE(starts.MayProduce(0));
  EXPECT_FALSE(starts.MayProduce(1));
}

TEST(FirstRecordBarrierTest,
     AFirstRecordThatWasNotDeliveredMakesRoomForTheNext) {
  FirstRecordBarrier starts;
  starts.OnProduced(0, 10);
  starts.OnNotDelivered(10);
  EXPECT_TRUE(starts.MayProduce(0));
  starts.OnProduced(0, 11);
  EXPECT_FALSE(starts.MayProduce(0));
}

}  // namespace
}  // namespace walpost
