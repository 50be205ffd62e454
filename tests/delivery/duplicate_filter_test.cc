#include "delivery/duplicate_filter.h"

#include <gtest/gtest.h>

#include <vector>

namespace walpost {
namespace {

EventIdentity At(uint64_t commit_lsn, uint64_t ordinal) {
  return {{Lsn(commit_lsn), ordinal}};
}

TEST(DuplicateFilterTest, IsEmptyAtFirst) {
  DuplicateFilter filter;
  EXPECT_EQ(filter.size(), 0u);
  EXPECT_FALSE(filter.IsAcknowledged(At(1, 1)));
}

TEST(DuplicateFilterTest, PassesOverExactPositionsOnly) {
  DuplicateFilter filter;
  filter.Add({At(100, 2), At(100, 4), At(200, 1)});
  EXPECT_FALSE(filter.IsAcknowledged(At(100, 1)));
  EXPECT_TRUE(filter.IsAcknowledged(At(100, 2)));
  EXPECT_FALSE(filter.IsAcknowledged(At(100, 3)));
  EXPECT_TRUE(filter.IsAcknowledged(At(100, 4)));
  EXPECT_FALSE(filter.IsAcknowledged(At(100, 5)));
  EXPECT_TRUE(filter.IsAcknowledged(At(200, 1)));
  EXPECT_FALSE(filter.IsAcknowledged(At(200, 2)));
}

TEST(DuplicateFilterTest, ForgetsWhatTheStreamHasLeftBehind) {
  DuplicateFilter filter;
  filter.Add({At(100, 1), At(100, 2), At(200, 1)});
  EXPECT_EQ(filter.size(), 3u);
  filter.IsAcknowledged(At(150, 1));
  EXPECT_EQ(filter.size(), 1u);
  filter.IsAcknowledged(At(300, 1));
  EXPECT_EQ(filter.size(), 0u);
}

TEST(DuplicateFilterTest, ASecondLossKeepsWhatTheFirstHasYetToPassOver) {
  DuplicateFilter filter;
  filter.Add({At(100, 1), At(300, 1), At(400, 1)});
  EXPECT_TRUE(filter.IsAcknowledged(At(100, 1)));
  EXPECT_FALSE(filter.IsAcknowledged(At(200, 1)));
  // Lost again, before the stream came to 300.
  filter.Add({At(200, 2), At(350, 1)});
  EXPECT_EQ(filter.size(), 4u);
  EXPECT_FALSE(filter.IsAcknowledged(At(200, 1)));
  for (const EventIdentity& position :
       {At(200, 2), At(300, 1), At(350, 1), At(400, 1)}) {
    EXPECT_TRUE(filter.IsAcknowledged(position));
  }
}

TEST(DuplicateFilterTest, TheSamePositionTwiceIsKeptOnce) {
  DuplicateFilter filter;
  filter.Add({At(100, 1)});
  filter.Add({At(100, 1)});
  EXPECT_EQ(filter.size(), 1u);
}

TEST(DuplicateFilterTest,
     P9AnotherTransactionAtTheSamePositionIsNotPassedOver) {
  DuplicateFilter filter;
  filter.Add({{{Lsn(100), 1}, Xid(7)}, {{Lsn(200), 1}, Xid(8)}});
  EXPECT_FALSE(filter.IsAcknowledged({{Lsn(100), 1}, Xid(9)}));
  EXPECT_TRUE(filter.IsAcknowledged({{Lsn(200), 1}, Xid(8)}));
}

}  // namespace
}  // namespace walpost
