#include "redis/entry_id.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(EntryIdTest, IsTheCommitLsnAndTheOrdinal) {
  const auto id = EntryId::Of({Lsn(0x154F6A8), 3});
  ASSERT_TRUE(id);
  EXPECT_EQ(id->ToString(), "22345384-3145728");
  EXPECT_EQ(EntryId::Parse("22345384-3145728"), id);
}

TEST(EntryIdTest, GrowsWithThePosition) {
  const Position positions[] = {{Lsn(1), 1},
                                {Lsn(1), 2},
                                {Lsn(2), 1},
                                {Lsn(uint64_t{1} << 63), 1},
                                {Lsn(~uint64_t{0}), (uint64_t{1} << 44) - 1}};
  for (size_t i = 1; i < std::size(positions); ++i) {
    EXPECT_LT(*EntryId::Of(positions[i - 1]), *EntryId::Of(positions[i]));
  }
}

TEST(EntryIdTest, ThereIsNoneWithoutAPlaceInTheWal) {
  EXPECT_FALSE(EntryId::Of({Lsn(), 7}));
  EXPECT_FALSE(EntryId::Of({Lsn(1), uint64_t{1} << 44}));
}

TEST(EntryIdTest, OtherTextsAreNotIds) {
  for (const char* text : {"", "-", "1", "1-", "-1", "1-x", "x-1", "1-2-3",
                           "1-18446744073709551616"}) {
    EXPECT_FALSE(EntryId::Parse(text)) << text;
  }
}

}  // namespace
}  // namespace walpost
