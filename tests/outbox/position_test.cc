#include "outbox/position.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "support/random_seed.h"

namespace walpost {
namespace {

TEST(PositionTextTest, IsFixedWidthHexadecimal) {
  EXPECT_EQ(PositionText(1, {Lsn(0x154F6A8), 1}).view(),
            "00000001-000000000154F6A8-0000000000000001");
  EXPECT_EQ(PositionText(0, {}).view(),
            "00000000-0000000000000000-0000000000000000");
  EXPECT_EQ(PositionText(UINT32_MAX, {Lsn(UINT64_MAX), UINT64_MAX}).view(),
            "FFFFFFFF-FFFFFFFFFFFFFFFF-FFFFFFFFFFFFFFFF");
}

TEST(PositionTextTest, SortsAsItCounts) {
  for (const uint64_t seed : testing::RandomSeeds(1)) {
    SCOPED_TRACE(testing::ReplayWith(seed));
    testing::Random random(seed);
    // Of every magnitude, so that digits and carries all get their turn.
    const auto draw = [&random] {
      return random.engine()() >> random.Below(64);
    };
    for (int i = 0; i < 20'000; ++i) {
      const std::tuple one(static_cast<uint32_t>(draw()), draw(), draw());
      std::tuple other(static_cast<uint32_t>(draw()), draw(), draw());
      if (random.OneIn(2)) std::get<0>(other) = std::get<0>(one);
      if (random.OneIn(2)) std::get<1>(other) = std::get<1>(one);
      const auto text = [](const auto& position) {
        const auto& [timeline, lsn, ordinal] = position;
        return std::string(PositionText(timeline, {Lsn(lsn), ordinal}).view());
      };
      ASSERT_EQ(text(one) < text(other), one < other)
          << text(one) << " " << text(other);
    }
  }
}

TEST(PositionTest, OrdersByCommitLsnThenOrdinal) {
  EXPECT_LT((Position{Lsn(1), 9}), (Position{Lsn(2), 1}));
  EXPECT_LT((Position{Lsn(2), 1}), (Position{Lsn(2), 2}));
  EXPECT_EQ((Position{Lsn(2), 2}), (Position{Lsn(2), 2}));
}

TEST(PositionTest, IsReadAsItIsPrinted) {
  for (const Position& position :
       {Position{Lsn(0x154F6A8), 3}, Position{Lsn(0x16B374D848), 1},
        Position{Lsn(1), UINT64_MAX}}) {
    EXPECT_EQ(ParsePosition(ToString(position)).value(), position);
  }
  EXPECT_EQ(ToString(Position{Lsn(0x16B374D848), 7}), "16/B374D848/7");
}

TEST(PositionTest, TheHeaderIsReadBack) {
  for (const Position& position :
       {Position{Lsn(0x154F6A8), 3}, Position{Lsn(UINT64_MAX), UINT64_MAX},
        Position{}}) {
    const auto read =
        ParsePositionText(PositionText(0xABCDEF01, position).view());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->timeline, 0xABCDEF01);
    EXPECT_EQ(read->position, position);
  }
  for (const char* text :
       {"", "0/1/2", "00000001-0000000000000001-000000000000000",
        "00000001-0000000000000001-000000000000000g",
        "0000000g-0000000000000001-0000000000000001",
        "00000001+0000000000000001-0000000000000001",
        "00000001-0000000000000001-00000000000000011"}) {
    const absl::Status status = ParsePositionText(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
  }
}

TEST(PositionTest, AnythingElseIsRefusedAndQuoted) {
  for (const char* text : {"", "/", "0/1", "0/1/", "0/1/0", "0/1/-1", "0/1/x",
                           "0/1/2/3", "x/1/2", "1"}) {
    const absl::Status status = ParsePosition(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_NE(status.message().find("'" + std::string(text) + "'"),
              absl::string_view::npos)
        << status;
  }
}

}  // namespace
}  // namespace walpost
