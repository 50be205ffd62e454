#include "postgres/slot/failover_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> HostsOf(const std::string& conninfo) {
  std::vector<std::string> hosts;
  for (const HostConninfo& host : SplitHosts(conninfo)) {
    hosts.push_back(host.host);
  }
  return hosts;
}

TEST(SplitHostsTest, GivesEachHostItsPort) {
  EXPECT_THAT(HostsOf("host=a,b,c port=1,2,3"),
              ElementsAre("a:1", "b:2", "c:3"));
  EXPECT_THAT(HostsOf("host=a,b port=1,"), ElementsAre("a:1", "b"));
}

TEST(SplitHostsTest, OnePortServesAllHosts) {
  EXPECT_THAT(HostsOf("host=a,b,c port=5"), ElementsAre("a:5", "b:5", "c:5"));
  EXPECT_THAT(HostsOf("host=a,b"), ElementsAre("a", "b"));
}

TEST(SplitHostsTest, OneHostIsNoList) {
  EXPECT_THAT(HostsOf("host=a port=1"), IsEmpty());
}

TEST(SplitHostsTest, PortsThatDoNotMatchTheHostsGiveNone) {
  EXPECT_THAT(HostsOf("host=a,b,c port=1,2"), IsEmpty());
  EXPECT_THAT(HostsOf("host=a,b port=1,2,3"), IsEmpty());
}

}  // namespace
}  // namespace walpost
