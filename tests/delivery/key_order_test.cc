#include "delivery/key_order.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace walpost {
namespace {

TEST(KeyOrderTest, ARecordWaitsForTheOneBeforeItOfItsKey) {
  KeyOrder order;
  const KeyOrder::Lane a = KeyOrder::LaneOf("t", "a");
  EXPECT_TRUE(order.Add(a, 0));
  EXPECT_FALSE(order.Add(a, 1));
  EXPECT_FALSE(order.Add(a, 2));
  EXPECT_TRUE(order.Add(KeyOrder::LaneOf("t", "b"), 3));
  EXPECT_EQ(order.waiting(), 2u);
  EXPECT_EQ(order.Next(a), 1u);
  EXPECT_EQ(order.Next(a), 2u);
  EXPECT_EQ(order.Next(a), std::nullopt);
  EXPECT_TRUE(order.Add(a, 4));
}

TEST(KeyOrderTest, KeysOfTwoTopicsAreTwo) {
  EXPECT_NE(KeyOrder::LaneOf("t", "a"), KeyOrder::LaneOf("u", "a"));
  EXPECT_NE(KeyOrder::LaneOf("t", ""), KeyOrder::Lane());
}

TEST(KeyOrderTest, WithoutAKeyNothingWaits) {
  KeyOrder order;
  const KeyOrder::Lane none = KeyOrder::LaneOf("t", std::nullopt);
  EXPECT_TRUE(order.Add(none, 0));
  EXPECT_TRUE(order.Add(none, 1));
  EXPECT_EQ(order.Next(none), std::nullopt);
}

TEST(KeyOrderTest, ClearForgetsWhatWaits) {
  KeyOrder order;
  const KeyOrder::Lane a = KeyOrder::LaneOf("t", "a");
  order.Add(a, 0);
  order.Add(a, 1);
  order.Clear();
  EXPECT_EQ(order.waiting(), 0u);
  EXPECT_TRUE(order.Add(a, 2));
}

// Any interleaving of produced and acknowledged records: each is sent once, of
// each key one at a time and in their order.
TEST(KeyOrderTest, OneOfEachKeyIsInFlightInAnyInterleaving) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  constexpr Sequence kRecords = 5'000;
  KeyOrder order;
  std::map<Sequence, uint64_t> in_flight;
  std::map<uint64_t, Sequence> last;
  size_t sent = 0;
  const auto send = [&](Sequence sequence, uint64_t key) {
    for (const auto& [other, its_key] : in_flight) ASSERT_NE(its_key, key);
    const auto before = last.find(key);
    if (before != last.end()) {
      ASSERT_LT(before->second, sequence);
    }
    last[key] = sequence;
    in_flight[sequence] = key;
    ++sent;
  };
  for (Sequence next = 0; next < kRecords || !in_flight.empty();) {
    if (next < kRecords && random() % 2 == 0) {
      const uint64_t key = random() % 7;
      if (order.Add(key, next)) send(next, key);
      ++next;
    } else if (!in_flight.empty()) {
      auto done = in_flight.begin();
      std::advance(done, random() % in_flight.size());
      const uint64_t key = done->second;
      in_flight.erase(done);
      if (const auto follower = order.Next(key)) send(*follower, key);
    }
  }
  EXPECT_EQ(sent, kRecords);
  EXPECT_EQ(order.waiting(), 0u);
}

}  // namespace
}  // namespace walpost
