#include "polling/rows_in_flight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

MonotonicTime At(int seconds) {
  return MonotonicTime(std::chrono::seconds(seconds));
}

class RowsInFlightTest : public ::testing::Test {
 protected:
  RowsInFlightTest() {
    flight_.Add(1, {"a", 0, At(10)});
    flight_.Add(2, {"b", 3, At(20)});
    flight_.Add(3, {"c", 0, At(30)});
  }

  RowsInFlight flight_;
};

TEST_F(RowsInFlightTest, ARowIsInFlightUntilItsReport) {
  EXPECT_EQ(flight_.Find(2).attempts, 3u);
  flight_.OnAcknowledged(1);
  flight_.OnRefused(2, absl::InvalidArgumentError("too large"));
  flight_.OnReturned(3);
  EXPECT_EQ(flight_.in_flight(), 0u);
  EXPECT_EQ(flight_.finished(), 3u);
  const RowsInFlight::Finished finished = flight_.TakeFinished();
  EXPECT_THAT(IdsOf(finished.acknowledged), ElementsAre("a"));
  ASSERT_EQ(finished.refused.size(), 1u);
  EXPECT_EQ(finished.refused[0].row.id, "b");
  EXPECT_EQ(finished.refused[0].reason.message(), "too large");
  EXPECT_THAT(IdsOf(finished.returned), ElementsAre("c"));
  EXPECT_TRUE(flight_.empty());
}

// They are not claimed again meanwhile.
TEST_F(RowsInFlightTest, HoldsEveryRowUntilItsResultIsTaken) {
  flight_.OnAcknowledged(1);
  flight_.OnRefused(2, absl::InvalidArgumentError("too large"));
  flight_.Return({"d", 0, At(0)});
  flight_.Divert({"e", 0, At(0)}, absl::InvalidArgumentError("too large"));
  EXPECT_THAT(flight_.Ids(), UnorderedElementsAre("a", "b", "c", "d", "e"));
}

TEST_F(RowsInFlightTest, KnowsWhetherOthersAreInFlightAsWell) {
  EXPECT_TRUE(flight_.IsInFlightWithin({"a", "b", "c", "d"}));
  EXPECT_FALSE(flight_.IsInFlightWithin({"a", "b"}));
}

}  // namespace
}  // namespace walpost
