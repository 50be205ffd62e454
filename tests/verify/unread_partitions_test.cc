#include "verify/unread_partitions.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(UnreadPartitionsTest, AnEmptyPartitionIsNotUnread) {
  UnreadPartitions unread;
  unread.Add("t", 0, 7, 7);
  EXPECT_TRUE(unread.empty());
}

TEST(UnreadPartitionsTest, TheLastRecordEndsAPartition) {
  UnreadPartitions unread;
  unread.Add("t", 0, 0, 2);
  unread.OnRecord("t", 0, 0);
  EXPECT_FALSE(unread.empty());
  unread.OnRecord("t", 0, 1);
  EXPECT_TRUE(unread.empty());
}

TEST(UnreadPartitionsTest, MarkersAndCompactedRecordsCountAsRead) {
  UnreadPartitions unread;
  unread.Add("t", 0, 0, 5);
  unread.OnRecord("t", 0, 1);
  unread.OnEnd("t", 0, 5);
  EXPECT_TRUE(unread.empty());
}

TEST(UnreadPartitionsTest, P1TheBeginOfAnOpenTransactionIsNotTheEnd) {
  UnreadPartitions unread;
  unread.Add("t", 0, 0, 5);
  unread.OnEnd("t", 0, 3);
  EXPECT_FALSE(unread.empty());
  EXPECT_TRUE(unread.AwaitOnlyTransactions());
  EXPECT_EQ(unread.Describe(), "topic t[0] at offset 3 of 5");
  unread.OnRecord("t", 0, 3);
  EXPECT_FALSE(unread.AwaitOnlyTransactions());
  unread.OnEnd("t", 0, 5);
  EXPECT_TRUE(unread.empty());
}

TEST(UnreadPartitionsTest, APartitionThatIsStillReadAwaitsNoTransaction) {
  UnreadPartitions unread;
  unread.Add("t", 0, 0, 5);
  unread.Add("t", 1, 0, 5);
  unread.OnEnd("t", 0, 3);
  EXPECT_FALSE(unread.AwaitOnlyTransactions());
  EXPECT_EQ(unread.Describe(), "topic t[0] at offset 3 of 5 and 1 more");
  unread.OnEnd("t", 1, 4);
  EXPECT_TRUE(unread.AwaitOnlyTransactions());
}

TEST(UnreadPartitionsTest, OtherPartitionsAreIgnored) {
  UnreadPartitions unread;
  unread.Add("t", 0, 0, 1);
  unread.OnRecord("t", 1, 0);
  unread.OnRecord("u", 0, 0);
  EXPECT_FALSE(unread.empty());
}

}  // namespace
}  // namespace walpost
