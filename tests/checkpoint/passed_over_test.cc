// Relations whose rows were passed over, as a text in the coverage.
#include "checkpoint/passed_over.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(PassedOverTest, IsReadBackAsItWasWritten) {
  PassedOver passed;
  EXPECT_EQ(passed.ToString(), "");
  passed.SetComplete(true);
  EXPECT_EQ(passed.ToString(), "passed");
  passed.Add(16400, Lsn(0x1A2B3C8));
  passed.Add(16404, Lsn(0x100000000));
  EXPECT_EQ(passed.ToString(), "passed.16400@0/1A2B3C8.16404@1/0");
  EXPECT_EQ(PassedOver::Parse(passed.ToString()), passed);
  passed.SetComplete(false);
  EXPECT_EQ(passed.ToString(), "some.16400@0/1A2B3C8.16404@1/0");
  EXPECT_EQ(PassedOver::Parse(passed.ToString()), passed);
}

TEST(PassedOverTest, TheFirstCommitOfARelationCounts) {
  PassedOver passed;
  passed.Add(7, Lsn(20));
  passed.Add(7, Lsn(10));
  passed.Add(7, Lsn(30));
  EXPECT_EQ(passed.Since(7), Lsn(10));
  EXPECT_EQ(passed.Since(8), std::nullopt);
  passed.Add(8, Lsn(5));
  EXPECT_EQ(passed.first(), Lsn(5));
  passed.Remove(8);
  EXPECT_EQ(passed.SinceIfUnknown(8), std::nullopt);
}

TEST(PassedOverTest, BeyondTheLimitAnyRelationMayHaveBeen) {
  PassedOver passed;
  for (uint32_t oid = 1; oid <= PassedOver::kMaxRelations; ++oid) {
    passed.Add(oid, Lsn(1'000 + oid));
  }
  EXPECT_EQ(passed.SinceIfUnknown(9'999), std::nullopt);
  passed.Add(8'888, Lsn(70));
  passed.Add(7'777, Lsn(80));
  EXPECT_EQ(passed.SinceIfUnknown(9'999), Lsn(70));
  EXPECT_EQ(passed.Since(9'999), std::nullopt);
  EXPECT_EQ(passed.SinceIfUnknown(1), Lsn(1'001));
  EXPECT_EQ(passed.first(), Lsn(70));
  EXPECT_EQ(PassedOver::Parse(passed.ToString()), passed);
  PassedOver other;
  other.Add(passed);
  EXPECT_EQ(other.SinceIfUnknown(9'999), Lsn(70));
}

TEST(PassedOverTest, WhatIsNotUnderstoodMayHaveBeenAnyRelation) {
  for (const char* text :
       {"passed.x@0/1", "passed.7", "passed.7@1@2", "some.news@0/7"}) {
    EXPECT_TRUE(PassedOver::Parse(text).SinceIfUnknown(9)) << text;
  }
  for (const char* text : {"", "left", "else.7@0/1"}) {
    EXPECT_EQ(PassedOver::Parse(text), PassedOver()) << text;
  }
}

}  // namespace
}  // namespace walpost
