#include "backfill/scan_cursor.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

ScanCursor::Key KeyOf(std::string text) { return {std::move(text)}; }

TEST(ScanCursorTest, MovesWithAcknowledgementsOnly) {
  ScanCursor place;
  EXPECT_EQ(place.key(), nullptr);
  place.OnRow(KeyOf("1"), 1, 10);
  place.OnRow(KeyOf("2"), 2, 11);
  EXPECT_EQ(place.key(), nullptr);
  EXPECT_EQ(place.pending(), 2);
  place.OnAcknowledged(10);
  ASSERT_NE(place.key(), nullptr);
  EXPECT_EQ(*place.key(), KeyOf("1"));
  EXPECT_EQ(place.done(), 1);
}

TEST(ScanCursorTest, ASecondScanPassesOverWhatWasAcknowledged) {
  ScanCursor place;
  place.OnRow(KeyOf("1"), 1, 1);
  place.OnRow(KeyOf("2"), 2, 2);
  place.OnRow(KeyOf("2"), 3, 3);
  place.OnAcknowledged(2);
  place.StartScan();
  EXPECT_EQ(place.pending(), 0);
  EXPECT_TRUE(place.WasAcknowledged(KeyOf("2"), 2));
  EXPECT_FALSE(place.WasAcknowledged(KeyOf("2"), 3));
  EXPECT_FALSE(place.WasAcknowledged(KeyOf("3"), 2));
}

TEST(ScanCursorTest, EqualRowsArePassedOverAsOftenAsTheyWereAcknowledged) {
  ScanCursor place;
  for (uint64_t i = 1; i <= 3; ++i) place.OnRow(KeyOf("1"), 4, i);
  place.OnAcknowledged(2);
  for (int scan = 0; scan < 2; ++scan) {
    place.StartScan();
    EXPECT_TRUE(place.WasAcknowledged(KeyOf("1"), 4));
    EXPECT_TRUE(place.WasAcknowledged(KeyOf("1"), 4));
    EXPECT_FALSE(place.WasAcknowledged(KeyOf("1"), 4));
  }
}

TEST(ScanCursorTest, AChangedRowIsSentAgain) {
  ScanCursor place;
  place.OnRow(KeyOf("1"), 5, 1);
  place.OnAcknowledged(1);
  place.StartScan();
  EXPECT_FALSE(place.WasAcknowledged(KeyOf("1"), 6));
}

TEST(ScanCursorTest, NullIsAKeyOfItsOwn) {
  ScanCursor place;
  place.OnRow({std::nullopt}, 1, 1);
  place.OnAcknowledged(1);
  place.StartScan();
  EXPECT_FALSE(place.WasAcknowledged(KeyOf(""), 1));
  EXPECT_TRUE(place.WasAcknowledged({std::nullopt}, 1));
}

TEST(ScanCursorTest, RemembersABoundedNumberOfTies) {
  ScanCursor place;
  for (uint64_t i = 1; i <= ScanCursor::kMaxTies + 1; ++i) {
    place.OnRow(KeyOf("1"), i, i);
    place.OnAcknowledged(i);
  }
  place.StartScan();
  EXPECT_TRUE(place.WasAcknowledged(KeyOf("1"), 7));
  EXPECT_FALSE(place.WasAcknowledged(KeyOf("1"), ScanCursor::kMaxTies + 1));
  EXPECT_EQ(place.done(), ScanCursor::kMaxTies + 1);
}

TEST(ScanCursorTest, AnotherProcessContinuesThere) {
  ScanCursor before;
  before.OnRow(KeyOf("1"), 1, 1);
  before.OnRow(KeyOf("2"), 2, 2);
  before.OnRow(KeyOf("3"), 3, 3);
  before.OnAcknowledged(2);
  ScanCursor place;
  place.OnRow(KeyOf("9"), 8, 1);
  place.Restore(before.state());
  EXPECT_EQ(place.pending(), 0);
  EXPECT_EQ(place.done(), 2);
  place.StartScan();
  EXPECT_EQ(*place.key(), KeyOf("2"));
  EXPECT_TRUE(place.WasAcknowledged(KeyOf("2"), 2));
  EXPECT_FALSE(place.WasAcknowledged(KeyOf("3"), 3));
}

}  // namespace
}  // namespace walpost
