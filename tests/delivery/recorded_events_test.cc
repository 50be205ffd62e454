#include "delivery/recorded_events.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

Position At(uint64_t commit_lsn, uint64_t ordinal = 1) {
  return {Lsn(commit_lsn), ordinal};
}

TEST(RecordedEventsTest, FindsAnEntryAtItsPosition) {
  RecordedEvents<int> events;
  EXPECT_FALSE(events.MayHave(At(1)));
  events.Add(At(200, 2), {"i2", 7});
  EXPECT_TRUE(events.MayHave(At(200, 9)));
  EXPECT_FALSE(events.MayHave(At(201)));
  ASSERT_NE(events.Find(At(200, 2), "i2"), nullptr);
  EXPECT_EQ(events.Find(At(200, 2), "i2")->fact, 7);
  EXPECT_EQ(events.Find(At(200, 2), "i3")->digest, "i2") << "for the caller";
  EXPECT_EQ(events.Find(At(200, 3), "i2"), nullptr);
}

TEST(RecordedEventsTest, AnEntryOfAnotherNumberingIsFoundByItsDigest) {
  RecordedEvents<int> events;
  events.AddOfOtherNumbering(Lsn(200), {"i2", 7});
  EXPECT_TRUE(events.MayHave(At(200)));
  EXPECT_EQ(events.Find(At(200, 1), "i1"), nullptr);
  EXPECT_EQ(events.Find(At(199, 1), "i2"), nullptr) << "another transaction";
  ASSERT_NE(events.Find(At(200, 5), "i2"), nullptr);
  EXPECT_EQ(events.Find(At(200, 5), "i2")->fact, 7) << "asked again";
}

// Two equal events without an id, one of which is on record.
TEST(RecordedEventsTest, AnEntryOfAnotherNumberingIsClaimedOnce) {
  RecordedEvents<int> events;
  events.AddOfOtherNumbering(Lsn(200), {"f2", 7});
  EXPECT_NE(events.Find(At(200, 5), "f2"), nullptr);
  EXPECT_EQ(events.Find(At(200, 6), "f2"), nullptr);
}

TEST(RecordedEventsTest, EqualEventsClaimTheirEntriesInTurn) {
  RecordedEvents<int> events;
  events.AddOfOtherNumbering(Lsn(200), {"f2", 1});
  events.AddOfOtherNumbering(Lsn(200), {"f2", 2});
  EXPECT_EQ(events.Find(At(200, 5), "f2")->fact, 1);
  EXPECT_EQ(events.Find(At(200, 6), "f2")->fact, 2);
}

}  // namespace
}  // namespace walpost
