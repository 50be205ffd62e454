#include "health/relay_status.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

struct Row {
  RelayState state;
  const char* name;
  bool ready;
};

TEST(RelayStatusTest, StatesHaveTheirNamesAndReadinessTellsTheTruth) {
  constexpr Row kRows[] = {
      {RelayState::kStarting, "starting", false},
      {RelayState::kStandby, "standby", true},
      {RelayState::kStreaming, "streaming", true},
      {RelayState::kCatchingUp, "catching up", true},
      {RelayState::kAtRisk, "at risk", false},
      {RelayState::kPaused, "paused", false},
      {RelayState::kStuck, "stuck", false},
      {RelayState::kDraining, "draining", false},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(ToString(row.state), row.name);
    EXPECT_EQ(IsReady(row.state), row.ready) << row.name;
  }
}

TEST(RelayStatusTest, LagIsTheWalThatIsNotConfirmed) {
  RelayStatus status;
  status.confirmed = Lsn(1'000);
  status.server_wal_end = Lsn(1'500);
  EXPECT_EQ(status.lag_bytes(), 500u);
  status.server_wal_end = Lsn(900);  // told a moment earlier
  EXPECT_EQ(status.lag_bytes(), 0u);
}

TEST(RelayStatusTest, LagIsNotKnownWithoutAStream) {
  RelayStatus status;
  status.server_wal_end = Lsn(1'500);
  EXPECT_EQ(status.lag_bytes(), std::nullopt) << "before the first stream";
  status.confirmed = Lsn(1'000);
  status.guard_lsn = Lsn(500);
  EXPECT_EQ(status.replay_window_bytes(), 500u);
  status.state = RelayState::kStandby;  // behind another instance
  EXPECT_EQ(status.lag_bytes(), std::nullopt);
  EXPECT_EQ(status.replay_window_bytes(), std::nullopt);
}

}  // namespace
}  // namespace walpost
