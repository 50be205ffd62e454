#include "postgres/instance_name.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace walpost {
namespace {

bool NobodyLives(long) { return false; }
bool EverybodyLives(long) { return true; }

TEST(InstanceNameTest, HoldsSlotHostAndProcess) {
  EXPECT_EQ(InstanceName("orders", "db1", 42).text(), "walpost:orders:db1:42");
}

TEST(InstanceNameTest, FitsWhatTheServerKeeps) {
  const InstanceName name(std::string(63, 's'), "host", 42);
  EXPECT_EQ(name.text().size(), 63u);
}

TEST(InstanceNameTest, AProcessThatIsGoneWasAPredecessor) {
  const InstanceName name("orders", "db1", 42);
  EXPECT_TRUE(name.IsDeadPredecessor("walpost:orders:db1:41", NobodyLives));
  EXPECT_FALSE(name.IsDeadPredecessor("walpost:orders:db1:41", EverybodyLives));
}

TEST(InstanceNameTest, OurOwnProcessNumberIsThatOfAnEarlierContainer) {
  const InstanceName name("orders", "db1", 1);
  EXPECT_TRUE(name.IsDeadPredecessor("walpost:orders:db1:1", EverybodyLives));
}

TEST(InstanceNameTest, NobodyElseIsAPredecessor) {
  const InstanceName name("orders", "db1", 42);
  for (const char* other :
       {"", "psql", "walpost:orders:db2:41", "walpost:other:db1:41",
        "walpost:orders:db1", "walpost:orders:db1:", "walpost:orders:db1:4x",
        "walpost:orders:db1:-4", "walpost:orders:db1:side",
        "walpost:orders:db1:99999999999999999999"}) {
    EXPECT_FALSE(name.IsDeadPredecessor(other, NobodyLives)) << other;
  }
}

// What is left of 12345678 is another process, which does not live.
TEST(InstanceNameTest, ANameThatWasCutProvesNothing) {
  const std::string slot(45, 's');
  const InstanceName name(slot, "db1", 4321);
  const InstanceName cut(slot, "db1", 12345678);
  ASSERT_TRUE(cut.text().ends_with(":12345"));
  EXPECT_FALSE(name.IsDeadPredecessor(cut.text(), NobodyLives));
  const InstanceName whole(slot, "db1", 1234);
  EXPECT_TRUE(name.IsDeadPredecessor(whole.text(), NobodyLives));
}

TEST(InstanceNameTest, KnowsWhetherAProcessLives) {
  EXPECT_TRUE(ProcessIsAlive(getpid()));
  EXPECT_TRUE(ProcessIsAlive(1));
  EXPECT_FALSE(ProcessIsAlive(0x3FFFFFFF));
}

}  // namespace
}  // namespace walpost
