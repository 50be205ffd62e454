#include "delivery/held_latencies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>

#include "outbox/route.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::Pair;

class HeldLatenciesTest : public ::testing::Test {
 protected:
  static std::vector<Route> Routes() {
    OutboxOptions options;
    options.tables.emplace_back();
    options.route.topic = std::string("t");
    return Route::CreateAll(options).value();
  }

  void Add(milliseconds at, std::string_view topic) {
    held_.Add(WallTime(at), latencies_.LabelOf(0, topic));
  }

  std::map<std::string, std::pair<uint64_t, milliseconds>> ByTopic() const {
    std::map<std::string, std::pair<uint64_t, milliseconds>> all;
    latencies_.by_topic().ForEach(
        [&all](std::string_view topic, const NamedLatencies::Latencies& some) {
          all[std::string(topic)] = {
              some.count(), std::chrono::duration_cast<milliseconds>(some.sum)};
        });
    return all;
  }

  DeliveryLatencies latencies_{Routes()};
  HeldLatencies held_;
};

TEST_F(HeldLatenciesTest, EndWhenTheyAreRecorded) {
  Add(milliseconds(10), "a");
  Add(milliseconds(10), "a");
  Add(milliseconds(30), "a");
  EXPECT_EQ(latencies_.all().count(), 0u);
  held_.Record(WallTime(milliseconds(50)), latencies_);
  EXPECT_EQ(latencies_.all().count(), 3u);
  EXPECT_EQ(latencies_.all().sum(), milliseconds(100));
  held_.Record(WallTime(milliseconds(90)), latencies_);
  EXPECT_EQ(latencies_.all().count(), 3u);
}

TEST_F(HeldLatenciesTest, ThoseOfATransactionThatWasGivenUpAreForgotten) {
  Add(milliseconds(10), "a");
  held_.Clear();
  held_.Record(WallTime(milliseconds(50)), latencies_);
  EXPECT_EQ(latencies_.all().count(), 0u);
}

TEST_F(HeldLatenciesTest, CountForTheirTopicAlsoWhenTopicsTakeTurns) {
  for (int i = 0; i < 300'000; ++i) Add(milliseconds(10), i % 3 ? "a" : "b");
  Add(milliseconds(20), "b");
  held_.Record(WallTime(milliseconds(50)), latencies_);
  EXPECT_THAT(ByTopic(),
              ElementsAre(Pair("a", Pair(200'000, milliseconds(8'000'000))),
                          Pair("b", Pair(100'001, milliseconds(4'000'030)))));
  EXPECT_EQ(latencies_.all().count(), 300'001u);
}

TEST_F(HeldLatenciesTest, AreLimitedAndNoneIsLost) {
  const auto runs = static_cast<int>(HeldLatencies::kMaxRuns);
  for (int i = 0; i < runs + 5; ++i) Add(milliseconds(i), "a");
  held_.Record(WallTime(milliseconds(runs)), latencies_);
  EXPECT_EQ(latencies_.all().count(), HeldLatencies::kMaxRuns + 5);
}

}  // namespace
}  // namespace walpost
