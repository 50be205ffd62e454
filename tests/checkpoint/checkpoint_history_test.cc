#include <gtest/gtest.h>

#include <string>

#include "checkpoint/checkpoint_candidates.h"
#include "checkpoint/checkpoint_codec.h"

namespace walpost {
namespace {

Checkpoint At(uint64_t confirmed) {
  Checkpoint checkpoint;
  checkpoint.system_identifier = "7";
  checkpoint.timeline = 1;
  checkpoint.slot = "walpost";
  checkpoint.birth = Lsn(0x10);
  checkpoint.confirmed = Lsn(confirmed);
  return checkpoint;
}

class CheckpointHistoryTest : public ::testing::Test {
 protected:
  void Add(const Checkpoint& checkpoint) {
    history_.Add(EncodeCheckpoint(checkpoint));
  }
  std::optional<Checkpoint> Found() { return history_.checkpoint().value(); }

  CheckpointHistory history_;
};

TEST_F(CheckpointHistoryTest, WithoutRecordsThereIsNone) {
  EXPECT_EQ(Found(), std::nullopt);
}

TEST_F(CheckpointHistoryTest, P9ALateRecordOfAFrozenInstanceDoesNotCount) {
  Add(At(0x100));
  Add(At(0x300));
  Add(At(0x200));
  EXPECT_EQ(Found(), At(0x300));
  Add(At(0x400));
  EXPECT_EQ(Found(), At(0x400));
}

TEST_F(CheckpointHistoryTest, OfAnotherClusterTheLastOneCounts) {
  Checkpoint other = At(0x100);
  other.system_identifier = "8";
  Add(At(0x300));
  Add(other);
  EXPECT_EQ(Found(), other);
}

TEST_F(CheckpointHistoryTest, ARecordWithoutAValueForgetsAllBefore) {
  Add(At(0x300));
  history_.Add(std::nullopt);
  EXPECT_EQ(Found(), std::nullopt);
  Add(At(0x200));
  EXPECT_EQ(Found(), At(0x200));
}

TEST_F(CheckpointHistoryTest, OnlyTheLastRecordMustBeReadable) {
  Add(At(0x100));
  history_.Add("torn");
  EXPECT_TRUE(absl::IsDataLoss(history_.checkpoint().status()));
  Add(At(0x200));
  EXPECT_EQ(Found(), At(0x200));
  history_.Add("torn");
  history_.Add(std::nullopt);
  EXPECT_EQ(Found(), std::nullopt);
}

}  // namespace
}  // namespace walpost
