#include "kafka/producer/missing_topic_detector.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

class MissingTopicDetectorTest : public ::testing::Test {
 protected:
  std::string Look(const std::string& unknown,
                   const std::string& by_statistics = "") {
    detector_.Look(unknown, by_statistics);
    return detector_.topic();
  }

  MissingTopicDetector detector_;
};

TEST_F(MissingTopicDetectorTest, ANewTopicIsUnknownForAMoment) {
  EXPECT_EQ(Look("orders"), "");
  EXPECT_EQ(Look(""), "");
  EXPECT_EQ(Look("orders"), "");
  EXPECT_EQ(Look("orders"), "orders");
  EXPECT_EQ(Look("orders"), "orders");
  EXPECT_EQ(Look("returns"), "") << "the next one has its moment, too";
  EXPECT_EQ(Look("returns"), "returns");
  EXPECT_EQ(Look(""), "");
}

TEST_F(MissingTopicDetectorTest, ADeletedTopicIsMissingAtOnce) {
  EXPECT_EQ(Look("", "orders"), "orders");
  EXPECT_EQ(Look("", ""), "");
  EXPECT_EQ(Look("returns", "orders"), "orders");
  EXPECT_EQ(Look("returns", "orders"), "returns");
}

}  // namespace
}  // namespace walpost
