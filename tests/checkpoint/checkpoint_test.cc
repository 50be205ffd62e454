#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

// Amid the transaction that commits at 0x200.
Checkpoint Example() {
  Checkpoint checkpoint;
  checkpoint.confirmed = Lsn(0x100);
  checkpoint.position = {Lsn(0x200), 7};
  checkpoint.numbering = 1;
  checkpoint.horizon.transaction_id = 40;
  return checkpoint;
}

TEST(CheckpointTest, KeepsItsPositionInTheSameNumbering) {
  Checkpoint checkpoint = Example();
  EXPECT_FALSE(Renumber(checkpoint, 1));
  EXPECT_EQ(checkpoint, Example());
}

TEST(CheckpointTest, P1AnotherNumberingSendsTheWholeTransactionAgain) {
  for (const uint64_t known : {0, 2}) {
    Checkpoint checkpoint = Example();
    checkpoint.numbering = known;
    EXPECT_TRUE(Renumber(checkpoint, 1));
    EXPECT_EQ(checkpoint.position, (Position{Lsn(0x100), 0}));
    EXPECT_EQ(checkpoint.commit_xid, Xid());
    EXPECT_FALSE(checkpoint.horizon.is_known());
    EXPECT_EQ(checkpoint.confirmed, Lsn(0x100));
    EXPECT_EQ(checkpoint.numbering, 1u);
  }
}

TEST(CheckpointTest, AnotherNumberingRepeatsNothingBetweenTransactions) {
  Checkpoint checkpoint = Example();
  checkpoint.confirmed = Lsn(0x208);  // the end of that transaction
  EXPECT_FALSE(Renumber(checkpoint, 2));
  EXPECT_EQ(checkpoint.numbering, 2u);
  Checkpoint fresh;
  EXPECT_FALSE(Renumber(fresh, 2));
}

TEST(CheckpointTest, TheFurtherOneIsTheLaterOne) {
  struct {
    const char* name;
    void (*change)(Checkpoint& further);
  } const rows[] = {
      {"position", [](Checkpoint& further) { ++further.position.ordinal; }},
      {"confirmed",
       [](Checkpoint& further) {
         further.confirmed = Lsn(0x101);
         further.position = Position();
         further.numbering = 2;
       }},
      {"birth",
       [](Checkpoint& further) {
         further.birth = Lsn(0x50);
         further.confirmed = Lsn(0x50);
       }},
      {"timeline",
       [](Checkpoint& further) {
         further.timeline = 2;
         further.birth = Lsn();
         further.confirmed = Lsn();
       }},
  };
  for (const auto& [name, change] : rows) {
    Checkpoint further = Example();
    change(further);
    EXPECT_TRUE(IsLater(further, Example())) << name;
    EXPECT_FALSE(IsLater(Example(), further)) << name;
  }
  EXPECT_FALSE(IsLater(Example(), Example()));
}

TEST(CheckpointTest, WhatDoesNotCompareIsNotLater) {
  Checkpoint renumbered = Example();
  renumbered.numbering = 2;
  renumbered.position.ordinal = 9;
  Checkpoint elsewhere = Example();
  elsewhere.system_identifier = "8";
  elsewhere.confirmed = Lsn(0x900);
  for (const Checkpoint& other : {renumbered, elsewhere}) {
    EXPECT_FALSE(IsLater(other, Example()));
    EXPECT_FALSE(IsLater(Example(), other));
  }
}

// A promoted server may have made its slot earlier.
TEST(CheckpointTest, ALaterTimelineGoesBeforeAYoungerSlot) {
  Checkpoint promoted = Example();
  promoted.birth = Lsn(0x10);
  ++promoted.timeline;
  Checkpoint younger = Example();
  younger.birth = Lsn(0x60);
  EXPECT_TRUE(IsLater(promoted, younger));
  EXPECT_FALSE(IsLater(younger, promoted));
}

}  // namespace
}  // namespace walpost
