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

}  // namespace
}  // namespace walpost
