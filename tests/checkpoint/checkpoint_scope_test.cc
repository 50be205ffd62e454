// How the checkpoints of a session continue from the stored one.
#include "checkpoint/checkpoint_scope.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

const Gap kGap{kGapServerBehind, "restored"};

CheckpointScope Owner() {
  CheckpointScope owner;
  owner.system_identifier = "7";
  owner.timeline = 2;
  owner.slot = "orders";
  owner.birth = Lsn(100);
  owner.numbering = 5;
  owner.coverage = "covered";
  owner.kafka_cluster = "here";
  return owner;
}

Checkpoint Stored() {
  Checkpoint stored;
  stored.system_identifier = "7";
  stored.timeline = 2;
  stored.slot = "orders";
  stored.birth = Lsn(100);
  stored.numbering = 5;
  stored.confirmed = Lsn(500);
  stored.position = {Lsn(600), 3};
  return stored;
}

TEST(ContinueFromTest, KeepsTheProgressThatIsStored) {
  const Checkpoint next = ContinueFrom(Stored(), Owner());
  EXPECT_EQ(next.confirmed, Lsn(500));
  EXPECT_EQ(next.position, (Position{Lsn(600), 3}));
  EXPECT_EQ(next.coverage, "covered");
  EXPECT_EQ(next.kafka_cluster, "here");
}

TEST(ContinueFromTest, P2DropsLsnsFromBeforeAPromotion) {
  Checkpoint stored = Stored();
  stored.timeline = 1;
  const Checkpoint next = ContinueFrom(stored, Owner());
  EXPECT_EQ(next.confirmed, Lsn());
  EXPECT_EQ(next.position, Position());
  EXPECT_EQ(next.timeline, 2u);
  EXPECT_EQ(next.slot, "orders");
  EXPECT_EQ(next.birth, Lsn(100));
}

TEST(ContinueFromTest, AClusterThatIsNotKnownYetReplacesNone) {
  Checkpoint stored = Stored();
  stored.kafka_cluster = "there";
  CheckpointScope owner = Owner();
  owner.kafka_cluster.clear();
  EXPECT_EQ(ContinueFrom(stored, owner).kafka_cluster, "there");
}

TEST(BeginAtBirthTest, KnowsNoEventAndAllBeforeTheBirthIsDone) {
  const Checkpoint begin = BeginAtBirth(Owner());
  EXPECT_EQ(begin.confirmed, Lsn(100));
  EXPECT_EQ(begin.birth, Lsn(100));
  EXPECT_EQ(begin.position, Position());
  EXPECT_EQ(begin.system_identifier, "7");
  EXPECT_EQ(begin.numbering, 5u);
}

TEST(CheckpointOfGapTest, P9KeepsTheValuesByWhichTheGapIsJudged) {
  const auto kept = CheckpointOfGap(kGap, Stored(), {}, Owner(), WallTime());
  ASSERT_TRUE(kept);
  EXPECT_EQ(ParseGap(kept->gap), kGap);
  EXPECT_EQ(kept->confirmed, Lsn(500));
  EXPECT_EQ(kept->coverage, "") << "the present one is no evidence";
}

TEST(CheckpointOfGapTest, P9KeepsTheLatestThatThisProcessHasStored) {
  Checkpoint saved = Stored();
  saved.position = {Lsn(900), 1};
  saved.confirmed = Lsn(900);
  const auto kept = CheckpointOfGap(kGap, Stored(), saved, Owner(), WallTime());
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->confirmed, Lsn(900));
}

TEST(CheckpointOfGapTest, P9KeepsAGapWithoutAnEarlierCheckpoint) {
  const auto kept =
      CheckpointOfGap(kGap, std::nullopt, {}, Owner(), WallTime());
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->system_identifier, "7");
}

TEST(CheckpointOfGapTest, AGapThatIsKeptIsNotWrittenAgain) {
  Checkpoint stored = Stored();
  stored.gap = "slot_missing of before";
  EXPECT_FALSE(CheckpointOfGap(kGap, stored, {}, Owner(), WallTime()));
}

// Two clusters share the place, and the other one is at work.
TEST(CheckpointOfGapTest, NothingIsWrittenIntoThatOfAnotherSystem) {
  Checkpoint foreign = Stored();
  foreign.system_identifier = "8";
  EXPECT_FALSE(CheckpointOfGap(kGap, foreign, {}, Owner(), WallTime()));
  const auto apart = CheckpointOfGap(kGap, foreign, {}, Owner(), WallTime(),
                                     ForeignCheckpoint::kApart);
  ASSERT_TRUE(apart);
  EXPECT_EQ(apart->system_identifier, "7");
  EXPECT_EQ(apart->confirmed, Lsn()) << "nothing is known of this one";
  EXPECT_EQ(ParseGap(apart->gap), kGap);
}

TEST(CheckpointOfGapTest, NothingIsKeptForASystemThatIsNotKnown) {
  CheckpointScope owner = Owner();
  owner.system_identifier.clear();
  EXPECT_FALSE(CheckpointOfGap(kGap, std::nullopt, {}, owner, WallTime()));
}

TEST(DeliveredUpToTest, CountsOnlyForThisServerTimelineAndSlot) {
  EXPECT_EQ(DeliveredUpTo(Stored(), Owner(), kGapServerBehind), Lsn(600));
  CheckpointScope other = Owner();
  other.system_identifier = "8";
  EXPECT_EQ(DeliveredUpTo(Stored(), other, ""), Lsn());
  other = Owner();
  other.timeline = 3;
  EXPECT_EQ(DeliveredUpTo(Stored(), other, ""), Lsn());
  other = Owner();
  other.slot = "invoices";
  EXPECT_EQ(DeliveredUpTo(Stored(), other, ""), Lsn());
}

TEST(DeliveredUpToTest, WhatAnotherKafkaHasIsNotInThisOne) {
  EXPECT_EQ(DeliveredUpTo(Stored(), Owner(), kGapKafkaReplaced), Lsn());
}

}  // namespace
}  // namespace walpost
