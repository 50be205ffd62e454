#include "postgres/connect/instance_name.h"

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
  for (size_t slot = 1; slot <= 63; ++slot) {
    for (const size_t host : {1, 8, 20, 64}) {
      const InstanceName name(std::string(slot, 's'), std::string(host, 'h'),
                              4'194'304);
      EXPECT_LE((name.text() + ":side").size(), 63u) << slot << ' ' << host;
    }
  }
}

TEST(InstanceNameTest, LongNamesWithTheSameBeginningDiffer) {
  const std::string head(55, 's');
  EXPECT_NE(InstanceName(head + "_a", "db1", 1).text(),
            InstanceName(head + "_b", "db1", 1).text());
  const std::string host(40, 'h');
  EXPECT_NE(InstanceName("orders", host + "a", 1).text(),
            InstanceName("orders", host + "b", 1).text());
}

TEST(InstanceNameTest, ALongNameIsAPredecessorsToo) {
  const std::string slot(60, 's');
  const InstanceName name(slot, "worker-17.internal.example.com", 42);
  const InstanceName dead(slot, "worker-17.internal.example.com", 41);
  const InstanceName other(slot, "worker-18.internal.example.com", 41);
  EXPECT_TRUE(name.IsDeadPredecessor(dead.text(), NobodyLives));
  EXPECT_FALSE(name.IsDeadPredecessor(other.text(), NobodyLives));
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

// Earlier releases let the server cut: what is left of a pid is another
// process, which does not live.
TEST(InstanceNameTest, ANameThatWasCutProvesNothing) {
  const InstanceName name("orders", std::string(34, 'h'), 4321);
  const std::string whole =
      InstanceName("orders", std::string(34, 'h'), 1234567).text();
  ASSERT_EQ(whole.size(), 57u);
  EXPECT_TRUE(name.IsDeadPredecessor(whole, NobodyLives));
  EXPECT_FALSE(name.IsDeadPredecessor(whole + "890123", NobodyLives));
}

TEST(InstanceNameTest, KnowsWhetherAProcessLives) {
  EXPECT_TRUE(ProcessIsAlive(getpid()));
  EXPECT_TRUE(ProcessIsAlive(1));
  EXPECT_FALSE(ProcessIsAlive(0x3FFFFFFF));
}

}  // namespace
}  // namespace walpost
