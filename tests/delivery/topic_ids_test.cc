#include "delivery/topic_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(TopicIdsTest, SpellsWhatItReads) {
  TopicIds ids;
  EXPECT_TRUE(ids.Observe("orders", "b"));
  EXPECT_TRUE(ids.Observe("invoices", "a"));
  EXPECT_EQ(ids.text(), "invoices=a,orders=b");
  TopicIds others;
  others.Reset(ids.text());
  EXPECT_EQ(others.text(), ids.text());
  EXPECT_THAT(others.topics(), ElementsAre("invoices", "orders"));
  EXPECT_TRUE(others.Knows("orders"));
  EXPECT_FALSE(others.Knows("shipments"));
}

TEST(TopicIdsTest, P9ATopicThatWasMadeAgainIsNamed) {
  TopicIds ids;
  ids.Reset("invoices=a,orders=b");
  EXPECT_TRUE(ids.Observe("orders", "b"));
  EXPECT_THAT(ids.replaced(), IsEmpty());
  EXPECT_FALSE(ids.Observe("orders", "c"));
  EXPECT_THAT(ids.replaced(), HasSubstr("topic orders has id c, and had b"));
  EXPECT_THAT(ids.replaced(), HasSubstr("walpost recover"));
  // It stays one, and the checkpoint stays as it was.
  EXPECT_FALSE(ids.Observe("orders", "c"));
  EXPECT_EQ(ids.text(), "invoices=a,orders=b");
  ids.Forget();
  EXPECT_THAT(ids.replaced(), IsEmpty());
  EXPECT_TRUE(ids.Observe("orders", "c"));
  EXPECT_EQ(ids.text(), "orders=c");
}

TEST(TopicIdsTest, WhatTheCheckpointSaysTakesThePlaceOfWhatWasKnown) {
  TopicIds ids;
  ids.Observe("orders", "a");
  ids.Reset("invoices=b");
  EXPECT_EQ(ids.text(), "invoices=b");
  ids.Reset("");
  EXPECT_EQ(ids.text(), "");
}

TEST(TopicIdsTest, PassesOverWhatDoesNotParse) {
  TopicIds ids;
  ids.Reset(",=,orders,=a,b=,invoices=c,");
  EXPECT_EQ(ids.text(), "invoices=c");
}

TEST(TopicIdsTest, KeepsNoMoreThanItsLimit) {
  TopicIds ids;
  for (size_t i = 0; i < TopicIds::kMax + 5; ++i) {
    EXPECT_TRUE(ids.Observe(fmt::format("topic-{:03}", i), "a"));
  }
  EXPECT_TRUE(ids.is_full());
  EXPECT_EQ(ids.topics().size(), TopicIds::kMax);
  EXPECT_FALSE(ids.Observe("topic-000", "b"));
  EXPECT_TRUE(ids.Observe("topic-064", "b"));  // not kept
  TopicIds others;
  others.Reset(ids.text() + ",more=a");
  EXPECT_FALSE(others.Knows("more"));
}

}  // namespace
}  // namespace walpost
