#include "redis/cluster_slots.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost {
namespace {

// A range of slots and its nodes, as CLUSTER SLOTS says them.
std::string Range(int first, int last, const std::string& host, int port) {
  return "*4\r\n:" + std::to_string(first) + "\r\n:" + std::to_string(last) +
         "\r\n*4\r\n" + host + "\r\n:" + std::to_string(port) +
         "\r\n$2\r\nid\r\n*0\r\n*4\r\n$1\r\nr\r\n:1\r\n$2\r\nid\r\n*0\r\n";
}

ClusterSlots Parsed(const std::string& bytes) {
  ReplyReader reader;
  EXPECT_TRUE(reader.Feed(bytes).ok());
  auto reply = reader.Next();
  EXPECT_TRUE(reply.ok() && reply->has_value());
  return ClusterSlots::Of(**reply, {"asked", 7000});
}

// The values are those of CLUSTER KEYSLOT.
TEST(HashSlotTest, IsThatOfRedis) {
  EXPECT_EQ(HashSlotOf("123456789"), 12'739);
  EXPECT_EQ(HashSlotOf("foo"), 12'182);
  EXPECT_EQ(HashSlotOf(""), 0);
}

TEST(HashSlotTest, IsThatOfTheFirstTagIfItHasText) {
  EXPECT_EQ(HashSlotOf("{user1000}.following"), HashSlotOf("user1000"));
  EXPECT_EQ(HashSlotOf("a{b}c{d}"), HashSlotOf("b"));
  EXPECT_EQ(HashSlotOf("foo{{bar}}zap"), HashSlotOf("{bar"));
  EXPECT_NE(HashSlotOf("foo{}{bar}"), HashSlotOf("bar"));
  EXPECT_NE(HashSlotOf("foo{}{bar}"), HashSlotOf("")) << "the whole of it";
  EXPECT_NE(HashSlotOf("foo{bar"), HashSlotOf("bar"));
}

TEST(ClusterSlotsTest, KnowsTheMasterOfEachSlot) {
  const ClusterSlots slots = Parsed("*3\r\n" + Range(0, 99, "$1\r\na", 7001) +
                                    Range(100, 199, "$1\r\nb", 7002) +
                                    Range(300, 16'383, "$1\r\na", 7001));
  EXPECT_EQ(slots.MasterOf(0), (ServerPlace{"a", 7001}));
  EXPECT_EQ(slots.MasterOf(100), (ServerPlace{"b", 7002}));
  EXPECT_EQ(slots.MasterOf(200), std::nullopt);
  EXPECT_EQ(slots.MasterOf(16'383), (ServerPlace{"a", 7001}));
  ASSERT_EQ(slots.Masters().size(), 2u);
  EXPECT_EQ(slots.served(), ClusterSlots::kCount - 100u);
}

TEST(ClusterSlotsTest, ANodeWithoutAHostIsReachedAsItWas) {
  const ClusterSlots slots = Parsed("*1\r\n" + Range(0, 5, "$-1", 7001));
  EXPECT_EQ(slots.MasterOf(5), (ServerPlace{"asked", 7001}));
}

TEST(ClusterSlotsTest, SkipsWhatIsNoRange) {
  const ClusterSlots slots =
      Parsed("*4\r\n:1\r\n*1\r\n:2\r\n*3\r\n:0\r\n:1\r\n*0\r\n" +
             Range(5, 16'384, "$1\r\na", 7001));
  EXPECT_EQ(slots.served(), 0u);
  EXPECT_TRUE(slots.Masters().empty());
}

}  // namespace
}  // namespace walpost
