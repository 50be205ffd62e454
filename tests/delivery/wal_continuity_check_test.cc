// P9: a WAL that has forked is noticed by what it holds.
#include "delivery/wal_continuity_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason_code.h"
#include "delivery/gap.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;

CommitIdentity Commit(uint64_t lsn, uint32_t xid = 700, int64_t micros = 5) {
  return {Lsn(lsn), Xid(xid), WallTime(std::chrono::microseconds(micros))};
}

void ExpectForked(const absl::Status& status, const std::string& words) {
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(ReasonCodeOf(status), kGapWalForked);
  EXPECT_THAT(std::string(status.message()), HasSubstr(words));
}

// 0x100 was the newest commit, and all up to 0x200 was received.
class WalContinuityCheckTest : public ::testing::Test {
 protected:
  WalContinuityCheckTest() { check_.Know(Commit(0x100)); }
  WalContinuityCheck check_;
};

TEST_F(WalContinuityCheckTest, ChecksNothingBeforeAStreamBegins) {
  EXPECT_TRUE(check_.is_settled());
  EXPECT_TRUE(check_.OnCommit(Commit(0x150, 9)).ok());
  EXPECT_TRUE(check_.OnBoundary(Lsn(0x400)).ok());
}

TEST_F(WalContinuityCheckTest, IsSettledWhenAllThatIsKnownHasPassed) {
  check_.Begin(Lsn(0x50), Lsn(0x200), Commit(0x100));
  EXPECT_FALSE(check_.is_settled());
  EXPECT_TRUE(check_.OnCommit(Commit(0x60, 1)).ok());  // an earlier one
  EXPECT_TRUE(check_.OnBoundary(Lsn(0x70)).ok());
  EXPECT_TRUE(check_.OnCommit(Commit(0x100)).ok());
  EXPECT_TRUE(check_.OnCommit(Commit(0x100)).ok());  // its second event
  EXPECT_TRUE(check_.OnBoundary(Lsn(0x130)).ok());
  EXPECT_FALSE(check_.is_settled());
  EXPECT_TRUE(check_.OnBoundary(Lsn(0x200)).ok());
  EXPECT_TRUE(check_.is_settled());
}

TEST_F(WalContinuityCheckTest, ANewEventSettlesItToo) {
  check_.Begin(Lsn(0x50), Lsn(0x200), {});
  EXPECT_TRUE(check_.OnCommit(Commit(0x100)).ok());
  EXPECT_TRUE(check_.OnCommit(Commit(0x200, 701)).ok());
  EXPECT_TRUE(check_.is_settled());
}

TEST_F(WalContinuityCheckTest, ASlotBehindWhatIsKnownNeedsNoProof) {
  check_.Begin(Lsn(0x200), Lsn(0x200), {});
  EXPECT_TRUE(check_.is_settled());
  EXPECT_TRUE(check_.OnCommit(Commit(0x210, 702)).ok());
}

TEST_F(WalContinuityCheckTest, P9ACommitThatDoesNotReappear) {
  check_.Begin(Lsn(0x50), Lsn(0x200), {});
  WalContinuityCheck other = check_;
  ExpectForked(check_.OnCommit(Commit(0x108, 700)), "not in the WAL any more");
  ExpectForked(other.OnBoundary(Lsn(0x108)), "found nothing");
}

TEST_F(WalContinuityCheckTest, P9AnotherTransactionInItsPlace) {
  for (const CommitIdentity& found :
       {Commit(0x100, 701), Commit(0x100, 700, 6)}) {
    WalContinuityCheck check = check_;
    check.Begin(Lsn(0x50), Lsn(0x200), {});
    ExpectForked(check.OnCommit(found), "in its place");
  }
}

// After the loss of a producer.
TEST_F(WalContinuityCheckTest,
       P9TheCommitWhereItStopsToPassOverHasToReappearFirst) {
  WalContinuityCheck check;
  check.Know(Commit(0x100, 705));
  check.Begin(Lsn(0x50), Lsn(0x60), Commit(0x80, 701));
  WalContinuityCheck forked = check;
  EXPECT_TRUE(check.OnCommit(Commit(0x80, 701)).ok());
  EXPECT_TRUE(check.OnCommit(Commit(0x90, 702)).ok());
  EXPECT_FALSE(check.is_settled());
  EXPECT_TRUE(check.OnCommit(Commit(0x100, 705)).ok());
  EXPECT_TRUE(check.OnBoundary(Lsn(0x110)).ok());
  EXPECT_TRUE(check.is_settled());
  EXPECT_TRUE(forked.OnCommit(Commit(0x70, 746)).ok());
  ExpectForked(forked.OnCommit(Commit(0x90, 748)), "transaction 701");
}

TEST_F(WalContinuityCheckTest, P9AnEventThatNobodyKnowsBeforeWhatWasReceived) {
  check_.Begin(Lsn(0x50), Lsn(0x200), {});
  EXPECT_TRUE(check_.OnCommit(Commit(0x100)).ok());
  ExpectForked(check_.OnCommit(Commit(0x180, 702)), "there was none after");
  WalContinuityCheck behind;
  behind.Know(Commit(0x100));
  behind.Begin(Lsn(0x140), Lsn(0x200), {});
  ExpectForked(behind.OnCommit(Commit(0x180, 702)), "0/180");
}

// The records of the commit at 0x300 were given up, so it is sent again; what
// is confirmed is known to end at 0x200.
TEST_F(WalContinuityCheckTest,
       P9AnUnknownEventBeforeWhatIsConfirmedWhileMoreIsAwaited) {
  check_.Know(Commit(0x300, 703));
  check_.Begin(Lsn(0x50), Lsn(0x200), Commit(0x100));
  EXPECT_TRUE(check_.OnCommit(Commit(0x80, 699)).ok());
  EXPECT_TRUE(check_.OnCommit(Commit(0x100)).ok());
  WalContinuityCheck other = check_;
  ExpectForked(check_.OnCommit(Commit(0x180, 701)), "0/180");
  EXPECT_TRUE(other.OnCommit(Commit(0x210, 702)).ok())
      << "it was given up, too";
}

TEST_F(WalContinuityCheckTest, ACheckpointOfAnOlderReleaseKnowsTheLsnAlone) {
  WalContinuityCheck check;
  check.Know({Lsn(0x100), Xid(), WallTime()});
  check.Begin(Lsn(0x50), Lsn(0x200), {});
  EXPECT_TRUE(check.OnCommit(Commit(0x100, 99)).ok());
}

// After Renumber: what lies before the confirmed LSN is passed over.
TEST_F(WalContinuityCheckTest, WhatIsTrustedNeedsNoProof) {
  WalContinuityCheck check;
  check.Trust(Lsn(0x180));
  check.Begin(Lsn(0x50), Lsn(0x200), {});
  EXPECT_FALSE(check.is_settled());
  EXPECT_TRUE(check.OnCommit(Commit(0x60)).ok());
  EXPECT_TRUE(check.OnCommit(Commit(0x90, 701)).ok());
  EXPECT_TRUE(check.OnBoundary(Lsn(0x200)).ok());
  EXPECT_TRUE(check.is_settled());
}

// Nothing but keepalives had come, up to 0x200.
TEST_F(WalContinuityCheckTest,
       P9AnEventBeforeWhatWasReceivedWhereNoneWasEverKnown) {
  WalContinuityCheck check;
  check.Trust(Lsn(0x50));
  check.Begin(Lsn(0x50), Lsn(0x200), {});
  ExpectForked(check.OnCommit(Commit(0x60)), "there was none after 0/50");
}

// What commits at the boundary itself is still to come.
TEST_F(WalContinuityCheckTest, ABoundaryIsBeforeWhatCommitsThere) {
  check_.Begin(Lsn(0x100), Lsn(0x200), {});
  EXPECT_TRUE(check_.OnBoundary(Lsn(0x100)).ok());
  EXPECT_FALSE(check_.is_settled());
  EXPECT_TRUE(check_.OnCommit(Commit(0x100)).ok());
}

// Also if nothing of it may have been seen.
TEST_F(WalContinuityCheckTest, P9TheCommitThatTheStreamBeginsAtHasToReappear) {
  check_.Begin(Lsn(0x100), Lsn(0x200), {});
  ExpectForked(check_.OnCommit(Commit(0x180, 702)), "in its place");
}

TEST_F(WalContinuityCheckTest, P9OfTwoCommitsTheFirstIsAwaitedFirst) {
  WalContinuityCheck check;
  check.Know(Commit(0x100, 705));
  check.Begin(Lsn(0x50), Lsn(0x60), Commit(0x80, 701));
  ExpectForked(check.OnBoundary(Lsn(0x90)), "transaction 701");
}

// An instance that streams the WAL from before a restore is not ended by it.
TEST_F(WalContinuityCheckTest, P9AnotherInstanceHasReadAnotherWal) {
  ExpectForked(check_.Compare(Commit(0xf0), Lsn(0x101)), "(transaction 700)");
  ExpectForked(check_.Compare(Commit(0x100, 701), Lsn(0x101)), "commits at");
  ExpectForked(check_.Compare(Commit(0x100, 700, 6), Lsn(0x101)), "commits at");
}

TEST_F(WalContinuityCheckTest, AnotherInstanceMayHaveReadLessOrMore) {
  EXPECT_TRUE(check_.Compare(Commit(0xf0), Lsn(0x100)).ok());
  EXPECT_TRUE(check_.Compare(Commit(0x100), Lsn(0x101)).ok());
  EXPECT_TRUE(check_.Compare(Commit(0x120, 701), Lsn(0x130)).ok());
  EXPECT_TRUE(check_.Compare({Lsn(0x100), Xid(), WallTime()}, Lsn(0x130)).ok());
  EXPECT_TRUE(WalContinuityCheck().Compare(Commit(0x80), Lsn(0x200)).ok());
}

TEST_F(WalContinuityCheckTest, TheNewestKnownCommitCounts) {
  check_.Know(Commit(0x80, 650));
  check_.Know(Commit(0x100, 750));  // the first answer about one LSN stays
  check_.Begin(Lsn(0x50), Lsn(0x200), {});
  EXPECT_TRUE(check_.OnCommit(Commit(0x100)).ok());
}

}  // namespace
}  // namespace walpost
