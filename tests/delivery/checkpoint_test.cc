#include "delivery/checkpoint.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

// Amid the transaction that commits at 0x200.
Checkpoint Example() {
  Checkpoint checkpoint;
  checkpoint.confirmed = Lsn(0x100);
  checkpoint.position = {Lsn(0x200), 7};
  checkpoint.numbering = 1;
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
    EXPECT_EQ(checkpoint.position, Position());
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

}  // namespace
}  // namespace walpost
