#include "delivery/named_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::map<std::string, uint64_t> All(const NamedCounts& counts) {
  std::map<std::string, uint64_t> all;
  counts.ForEach([&all](std::string_view name, uint64_t count) {
    EXPECT_TRUE(all.emplace(name, count).second) << "twice: " << name;
  });
  return all;
}

TEST(NamedCountsTest, HasEachByItsName) {
  NamedCounts counts;
  counts.Add("a", 1);
  counts.Add("b", 0);
  EXPECT_THAT(All(counts), ElementsAre(Pair("a", 1), Pair("b", 0)));
}

TEST(NamedCountsTest, BeyondTheLimitAllShareOne) {
  NamedCounts counts;
  for (size_t i = 0; i < NamedCounts::kMaxNames + 7; ++i) {
    counts.Add("topic" + std::to_string(i), 3);
  }
  const auto all = All(counts);
  EXPECT_EQ(all.size(), NamedCounts::kMaxNames + 1);
  EXPECT_EQ(all.at("topic99"), 3u);
  EXPECT_EQ(all.at("other"), 21u);
}

TEST(NamedCountsTest, ATopicWithTheNameOfTheOthersIsOneOfThem) {
  NamedCounts counts;
  counts.Add("other", 5);
  for (size_t i = 0; i < NamedCounts::kMaxNames + 1; ++i) {
    counts.Add("topic" + std::to_string(i), 2);
  }
  EXPECT_EQ(All(counts).at("other"), 7u);
}

TEST(NamedCounterTest, CountsInTheNamesThatComeFirst) {
  NamedCounter counter;
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < NamedCounts::kMaxNames + 7; ++i) {
      counter.Add(counter.PlaceOf("topic" + std::to_string(i)), 3);
    }
  }
  const auto all = All(counter.counts());
  EXPECT_EQ(all.size(), NamedCounts::kMaxNames + 1);
  EXPECT_EQ(all.at("topic0"), 6u);
  EXPECT_EQ(all.at("topic99"), 6u);
  EXPECT_EQ(all.at("other"), 42u);
}

}  // namespace
}  // namespace walpost
