#include "health/state_line.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(StateLineTest, AStateWithoutAReasonIsItsName) {
  RelayStatus status;
  status.state = RelayState::kCatchingUp;
  EXPECT_EQ(StateLine(status), "catching up");
}

TEST(StateLineTest, AReasonOfSeveralLinesIsOneLine) {
  RelayStatus status;
  status.state = RelayState::kStuck;
  status.reason = "FATAL: no\n\tslot\r";
  EXPECT_EQ(StateLine(status), "stuck: FATAL: no  slot ");
}

TEST(StateLineTest, AStartIsKnownToLastAfterTenSeconds) {
  RelayStatus status;
  status.state = RelayState::kStarting;
  status.in_state_for = std::chrono::seconds(9);
  EXPECT_FALSE(IsStateKnown(status));
  status.in_state_for = std::chrono::seconds(10);
  EXPECT_TRUE(IsStateKnown(status));
}

TEST(StateLineTest, EveryOtherStateIsKnownAtOnce) {
  RelayStatus status;
  for (const RelayState state : {RelayState::kStreaming, RelayState::kStuck,
                                 RelayState::kStandby, RelayState::kDraining}) {
    status.state = state;
    EXPECT_TRUE(IsStateKnown(status)) << ToString(state);
  }
}

}  // namespace
}  // namespace walpost
