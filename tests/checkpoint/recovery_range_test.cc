#include "checkpoint/recovery_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kNumbering = 9;
const WallTime kStart{std::chrono::microseconds(1'700'000'000'000'000)};

Checkpoint Stored() {
  Checkpoint checkpoint;
  checkpoint.system_identifier = "7";
  checkpoint.timeline = 1;
  checkpoint.confirmed = Lsn(0x100);
  checkpoint.numbering = kNumbering;
  checkpoint.horizon = {5'000'000'000, kStart};
  return checkpoint;
}

RecoveryServer Server() { return {"7", 1, kStart, 5'000'000'000, Lsn(0x100)}; }

TEST(RecoveryRangeTest, BeginsAtTheHorizonOfTheCheckpoint) {
  const RecoveryRange range =
      ChooseRecoveryRange(Stored(), kNumbering, Server());
  EXPECT_EQ(range.from_transaction, 5'000'000'000u);
  EXPECT_THAT(range.text, HasSubstr("rows of transaction 5000000000"));
}

TEST(RecoveryRangeTest, P1InAnyDoubtItIsAllRows) {
  struct {
    void (*change)(Checkpoint& stored, RecoveryServer& server);
    const char* reason;
  } const rows[] = {
      {[](Checkpoint&, RecoveryServer& server) {
         server.system_identifier = "8";
       },
       "another cluster"},
      {[](Checkpoint&, RecoveryServer& server) { server.timeline = 2; },
       "timeline 1, and the server on timeline 2"},
      {[](Checkpoint& stored, RecoveryServer&) { stored.horizon = {}; },
       "no transaction id"},
      {[](Checkpoint& stored, RecoveryServer&) { stored.numbering = 8; },
       "outbox.tables"},
      {[](Checkpoint&, RecoveryServer& server) {
         server.started_at += std::chrono::microseconds(1);
       },
       "restarted"},
      {[](Checkpoint&, RecoveryServer& server) { --server.next_transaction; },
       "restored"},
      {[](Checkpoint&, RecoveryServer& server) { server.wal_end = Lsn(0xFF); },
       "restored"},
  };
  for (const auto& [change, reason] : rows) {
    Checkpoint stored = Stored();
    RecoveryServer server = Server();
    change(stored, server);
    const RecoveryRange range = ChooseRecoveryRange(stored, kNumbering, server);
    EXPECT_EQ(range.from_transaction, 0u) << reason;
    EXPECT_THAT(range.text, HasSubstr("all rows: "));
    EXPECT_THAT(range.text, HasSubstr(reason));
  }
}

TEST(RecoveryRangeTest, P1WithoutACheckpointItIsAllRows) {
  const RecoveryRange none =
      ChooseRecoveryRange(std::nullopt, kNumbering, Server());
  EXPECT_EQ(none.from_transaction, 0u);
  EXPECT_THAT(none.text, HasSubstr("no checkpoint"));
  const RecoveryRange unreadable = ChooseRecoveryRange(
      absl::DataLossError("file c: torn"), kNumbering, Server());
  EXPECT_EQ(unreadable.from_transaction, 0u);
  EXPECT_THAT(unreadable.text, HasSubstr("file c: torn"));
}

}  // namespace
}  // namespace walpost
