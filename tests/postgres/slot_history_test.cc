#include <gtest/gtest.h>

#include "postgres/slot/observed_slot.h"

namespace walpost {
namespace {

constexpr char kSystem[] = "7710532146069433627";

SlotState SlotAt(uint64_t confirmed) {
  SlotState slot;
  slot.wal_status = "reserved";
  slot.confirmed_flush_lsn = Lsn(confirmed);
  return slot;
}

BirthRecord BornAt(uint64_t consistent_point) {
  BirthRecord birth;
  birth.slot = "orders";
  birth.system_identifier = kSystem;
  birth.consistent_point = Lsn(consistent_point);
  birth.streamed_from = 745;
  return birth;
}

SlotHistory Ask(const std::optional<SlotState>& slot,
                const std::optional<BirthRecord>& birth,
                HasCheckpoint has_checkpoint = HasCheckpoint::kNo) {
  return HistoryOf(slot, birth, kSystem, has_checkpoint);
}

TEST(SlotHistoryTest, WithoutASlotARecordOrCheckpointMakesItMissing) {
  EXPECT_EQ(Ask(std::nullopt, std::nullopt), SlotHistory::kNone);
  EXPECT_EQ(Ask(std::nullopt, BornAt(7)), SlotHistory::kMissing);
  EXPECT_EQ(Ask(std::nullopt, std::nullopt, HasCheckpoint::kYes),
            SlotHistory::kMissing);
}

TEST(SlotHistoryTest, ASlotThatStandsAtItsBirthIsUnused) {
  EXPECT_EQ(Ask(SlotAt(7), BornAt(7)), SlotHistory::kUnused);
  EXPECT_EQ(Ask(SlotAt(8), BornAt(7)), SlotHistory::kUsed);
}

TEST(SlotHistoryTest, ACheckpointIsASignOfUse) {
  EXPECT_EQ(Ask(SlotAt(7), BornAt(7), HasCheckpoint::kYes), SlotHistory::kUsed);
  EXPECT_EQ(Ask(SlotAt(7), std::nullopt, HasCheckpoint::kYes),
            SlotHistory::kUsed);
}

TEST(SlotHistoryTest, WithoutARecordItIsUnknown) {
  EXPECT_EQ(Ask(SlotAt(7), std::nullopt), SlotHistory::kUnknown);
}

TEST(SlotHistoryTest, ASlotWhoseEarlierRowsWerePublishedCountsAsUsed) {
  BirthRecord birth = BornAt(7);
  NoteAllPublished(birth);
  EXPECT_EQ(Ask(SlotAt(7), birth), SlotHistory::kUsed);
}

TEST(SlotHistoryTest, ARecordOfAnotherSystemAndALostSlotAreLeftAlone) {
  BirthRecord birth = BornAt(7);
  birth.system_identifier = "1";
  EXPECT_EQ(Ask(SlotAt(7), birth), SlotHistory::kUsed);
  SlotState slot = SlotAt(7);
  slot.wal_status = "lost";
  EXPECT_EQ(Ask(slot, BornAt(7)), SlotHistory::kUsed);
}

}  // namespace
}  // namespace walpost
