#include "kafka/producer/brokerless_detector.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

class BrokerlessDetectorTest : public ::testing::Test {
 protected:
  BrokerlessDetectorTest() {
    none_.is_brokerless = true;
    coordinator_.has_coordinator_only = true;
    one_.brokers_up = 1;
  }

  ProducerStatistics none_;
  ProducerStatistics coordinator_;
  ProducerStatistics one_;
  BrokerlessDetector detector_;
};

TEST_F(BrokerlessDetectorTest, TwoReportsInARowMeanThatItNeverConnectsAgain) {
  EXPECT_FALSE(detector_.OnStatistics(none_, false));
  EXPECT_TRUE(detector_.OnStatistics(none_, false));
  EXPECT_FALSE(detector_.OnStatistics(none_, false)) << "it is said once";
  EXPECT_TRUE(detector_.OnStatistics(none_, false));
}

TEST_F(BrokerlessDetectorTest, ABrokerInBetweenBeginsTheCountAgain) {
  EXPECT_FALSE(detector_.OnStatistics(none_, false));
  EXPECT_FALSE(detector_.OnStatistics(one_, false));
  EXPECT_FALSE(detector_.OnStatistics(none_, false));
}

// One that has nothing to send closes its connections.
TEST_F(BrokerlessDetectorTest, ACoordinatorAloneIsTooFewForRecords) {
  EXPECT_FALSE(detector_.OnStatistics(coordinator_, false));
  EXPECT_FALSE(detector_.OnStatistics(coordinator_, false));
  EXPECT_FALSE(detector_.OnStatistics(coordinator_, true));
  EXPECT_TRUE(detector_.OnStatistics(coordinator_, true));
}

}  // namespace
}  // namespace walpost
