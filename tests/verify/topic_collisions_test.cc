#include "verify/topic_collisions.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(TopicCollisionsTest, FindsWhatIsInTheWay) {
  const Findings findings =
      FindCollisions({"order.item", "invoice"}, {"order_item", "other"});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].subject, "topic order.item");
  EXPECT_NE(findings[0].text.find("topic order_item"), std::string::npos);
}

TEST(TopicCollisionsTest, FindsTwoThatAreBothMissing) {
  const Findings findings = FindCollisions({"order.item", "order_item"}, {});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].subject, "topic order_item");
}

TEST(TopicCollisionsTest, FindsNothingAboutTopicsThatExist) {
  EXPECT_TRUE(FindCollisions({"order.item"}, {"order.item"}).empty());
  EXPECT_TRUE(FindCollisions({"order.item"}, {"order.items"}).empty());
  // Brokers of earlier versions took both.
  EXPECT_TRUE(
      FindCollisions({"order_item"}, {"order.item", "order_item"}).empty());
}

}  // namespace
}  // namespace walpost
