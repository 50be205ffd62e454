#include "checkpoint/checkpoint_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "checkpoint/checkpoint_codec.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;

constexpr char kSlot[] = "orders";
constexpr char kHere[] = "7";
constexpr char kElsewhere[] = "8";

Checkpoint Of(const std::string& system, uint64_t confirmed,
              int written_at = 0) {
  Checkpoint checkpoint;
  checkpoint.system_identifier = system;
  checkpoint.timeline = 1;
  checkpoint.slot = kSlot;
  checkpoint.confirmed = Lsn(confirmed);
  checkpoint.written_at = WallTime(std::chrono::seconds(written_at));
  return checkpoint;
}

class CheckpointCandidatesTest : public ::testing::Test {
 protected:
  void Put(const std::string& key, const Checkpoint& checkpoint) {
    candidates_.Add(key, EncodeCheckpoint(checkpoint));
  }
  void PutHere(uint64_t confirmed) {
    Put(CheckpointKey(kSlot, kHere), Of(kHere, confirmed));
  }
  Lsn Picked() {
    const auto picked = candidates_.Pick();
    EXPECT_TRUE(picked.ok()) << picked.status();
    return picked.ok() && *picked ? (*picked)->confirmed : Lsn();
  }

  CheckpointCandidates candidates_{kSlot, {kHere, false}};
};

TEST_F(CheckpointCandidatesTest, NothingIsNothing) {
  EXPECT_EQ(Picked(), Lsn());
}

TEST_F(CheckpointCandidatesTest, OurSystemGoesBeforeANewerRecordOfAnother) {
  PutHere(10);
  Put(CheckpointKey(kSlot, kElsewhere), Of(kElsewhere, 99, 5));
  EXPECT_EQ(Picked(), Lsn(10));
}

TEST_F(CheckpointCandidatesTest, OtherSlotsAreNotLookedAt) {
  Put("orders2@7", Of(kHere, 99));
  Put("order@7", Of(kHere, 99));
  Put("orders@77", Of("77", 3));
  EXPECT_EQ(Picked(), Lsn(3)) << "another system, and none of ours";
}

TEST_F(CheckpointCandidatesTest, TheNewestOfOtherSystemsIsHandedOut) {
  Put(CheckpointKey(kSlot, "8"), Of("8", 5, 2));
  Put(CheckpointKey(kSlot, "9"), Of("9", 4, 1));
  EXPECT_EQ(Picked(), Lsn(5));
}

TEST(CheckpointCandidatesAtHomeTest, ASlotWithABirthRecordHasNoOtherSystem) {
  CheckpointCandidates candidates(kSlot, {kHere, true});
  candidates.Add(CheckpointKey(kSlot, kElsewhere),
                 EncodeCheckpoint(Of(kElsewhere, 99)));
  candidates.Add(kSlot, EncodeCheckpoint(Of(kElsewhere, 99)));
  const auto picked = candidates.Pick();
  ASSERT_TRUE(picked.ok()) << picked.status();
  EXPECT_EQ(*picked, std::nullopt);
}

TEST_F(CheckpointCandidatesTest, TheOldKeyCountsForTheSystemThatItNames) {
  Put(kSlot, Of(kHere, 20));
  EXPECT_EQ(Picked(), Lsn(20));
  EXPECT_TRUE(candidates_.old_key_is_ours());
  PutHere(10);
  EXPECT_EQ(Picked(), Lsn(20)) << "an older release was further";
  PutHere(30);
  EXPECT_EQ(Picked(), Lsn(30));
}

TEST_F(CheckpointCandidatesTest, TheOldKeyOfAnotherSystemIsAnothers) {
  Put(kSlot, Of(kElsewhere, 99));
  EXPECT_FALSE(candidates_.old_key_is_ours());
  PutHere(10);
  EXPECT_EQ(Picked(), Lsn(10));
}

TEST_F(CheckpointCandidatesTest, ARecordWithoutAValueForgetsBothKeys) {
  Put(kSlot, Of(kHere, 20));
  PutHere(30);
  candidates_.Add(CheckpointKey(kSlot, kHere), std::nullopt);
  EXPECT_EQ(Picked(), Lsn());
}

TEST_F(CheckpointCandidatesTest, WhatCannotBeReadNamesItsKey) {
  candidates_.Add(CheckpointKey(kSlot, kHere), "torn");
  const auto picked = candidates_.Pick();
  EXPECT_TRUE(absl::IsDataLoss(picked.status()));
  EXPECT_THAT(std::string(picked.status().message()), HasSubstr("orders@7"));
}

TEST_F(CheckpointCandidatesTest, WhatAnotherSystemTornDoesNotMatterBesideOurs) {
  PutHere(10);
  candidates_.Add(CheckpointKey(kSlot, kElsewhere), "torn");
  EXPECT_EQ(Picked(), Lsn(10));
}

// Without one of ours, it may be the one that matters.
TEST_F(CheckpointCandidatesTest, WhatAnotherSystemTornMattersWithoutOurs) {
  candidates_.Add(CheckpointKey(kSlot, kElsewhere), "torn");
  EXPECT_TRUE(absl::IsDataLoss(candidates_.Pick().status()));
}

}  // namespace
}  // namespace walpost
