#include "delivery/named_latencies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>

namespace walpost {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::Pair;

std::map<std::string, NamedLatencies::Latencies> All(
    const NamedLatencies& latencies) {
  std::map<std::string, NamedLatencies::Latencies> all;
  latencies.ForEach(
      [&all](std::string_view name, const NamedLatencies::Latencies& of_name) {
        EXPECT_TRUE(all.emplace(name, of_name).second) << "twice: " << name;
      });
  return all;
}

std::map<std::string, uint64_t> Counts(const NamedLatencies& latencies) {
  std::map<std::string, uint64_t> counts;
  for (const auto& [name, of_name] : All(latencies)) {
    counts[name] = of_name.count();
  }
  return counts;
}

TEST(NamedLatenciesTest, HasEachByItsName) {
  NamedLatencies latencies;
  const auto a = latencies.IndexOf("a");
  const auto b = latencies.IndexOf("b");
  latencies.IndexOf("c");
  EXPECT_EQ(latencies.IndexOf("a"), a);
  latencies.Record(a, milliseconds(3));
  latencies.Record(b, milliseconds(5), 4);
  EXPECT_THAT(Counts(latencies),
              ElementsAre(Pair("a", 1), Pair("b", 4), Pair("c", 0)));
  EXPECT_EQ(All(latencies).at("b").sum, milliseconds(20));
}

TEST(NamedLatenciesTest, ABoundBelongsToItsOwnBucket) {
  NamedLatencies latencies;
  const auto name = latencies.IndexOf("a");
  latencies.Record(name, microseconds(-7));
  latencies.Record(name, milliseconds(10));
  latencies.Record(name, microseconds(10'001));
  latencies.Record(name, milliseconds(1'000));
  latencies.Record(name, milliseconds(30'000));
  latencies.Record(name, minutes(10));
  EXPECT_THAT(All(latencies).at("a").buckets, ElementsAre(2, 1, 0, 1, 0, 1, 1));
  EXPECT_EQ(All(latencies).at("a").sum,
            microseconds(20'001) + milliseconds(31'000) + minutes(10))
      << "a negative latency counts as none";
}

TEST(NamedLatenciesTest, BeyondTheLimitAllShareOne) {
  NamedLatencies latencies;
  for (size_t i = 0; i < NamedLatencies::kMaxNames + 7; ++i) {
    latencies.Record(latencies.IndexOf("topic" + std::to_string(i)),
                     milliseconds(1), 3);
  }
  const auto counts = Counts(latencies);
  EXPECT_EQ(counts.size(), NamedLatencies::kMaxNames + 1);
  EXPECT_EQ(counts.at("topic99"), 3u);
  EXPECT_EQ(counts.at("other"), 21u);
}

TEST(NamedLatenciesTest, ATopicWithTheNameOfTheOthersIsOneOfThem) {
  NamedLatencies latencies;
  latencies.Record(latencies.IndexOf("other"), milliseconds(1));
  latencies.Record(latencies.IndexOf("a"), milliseconds(1));
  EXPECT_THAT(Counts(latencies), ElementsAre(Pair("a", 1), Pair("other", 1)));
}

}  // namespace
}  // namespace walpost
