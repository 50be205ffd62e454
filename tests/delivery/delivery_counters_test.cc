#include "delivery/delivery_counters.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <numeric>

namespace walpost {
namespace {

// Whatever the members are called: all of them are counts.
using Counts =
    std::array<uint64_t, sizeof(DeliveryCounters) / sizeof(uint64_t)>;

TEST(DeliveryCountersTest, EveryCountIsAdded) {
  EXPECT_EQ(std::bit_cast<Counts>(DeliveryCounters()), Counts());
  Counts counts;
  std::iota(counts.begin(), counts.end(), 1);
  auto sum = std::bit_cast<DeliveryCounters>(counts);
  sum += std::bit_cast<DeliveryCounters>(counts);
  for (uint64_t& count : counts) count *= 2;
  EXPECT_EQ(std::bit_cast<Counts>(sum), counts);
}

}  // namespace
}  // namespace walpost
