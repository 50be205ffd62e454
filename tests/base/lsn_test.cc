#include "base/lsn.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"

namespace walpost {
namespace {

struct SpelledLsn {
  const char* text;
  uint64_t value;
};

constexpr SpelledLsn kSpelled[] = {
    {"0/0", 0},
    {"0/1", 1},
    {"1/0", uint64_t{1} << 32},
    {"16/B374D848", 0x16B374D848},
    {"0/FFFFFFFF", 0xFFFFFFFF},
    {"FFFFFFFF/FFFFFFFF", UINT64_MAX},
};

TEST(LsnTest, PrintsAsPostgresDoes) {
  for (const auto& [text, value] : kSpelled) {
    EXPECT_EQ(Lsn(value).ToString(), text);
  }
}

TEST(LsnTest, ReadsWhatItPrints) {
  for (const auto& [text, value] : kSpelled) {
    const auto lsn = Lsn::Parse(text);
    ASSERT_TRUE(lsn.ok()) << text;
    EXPECT_EQ(lsn->value(), value);
  }
}

TEST(LsnTest, ReadsLowerCaseAndLeadingZeros) {
  EXPECT_EQ(Lsn::Parse("00000016/b374d848").value(), Lsn(0x16B374D848));
}

TEST(LsnTest, RefusesWhatIsNoLsnAndQuotesIt) {
  for (const std::string text :
       {"", "/", "0", "0/", "/0", "0/0/0", "0/0 ", " 0/0", "g/0", "0/-1",
        "+1/0", "0x1/0", "123456789/0", "0/123456789", "0\\0"}) {
    const absl::Status status = Lsn::Parse(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_NE(std::string(status.message()).find("'" + text + "'"),
              std::string::npos)
        << status;
  }
}

TEST(LsnTest, IsOrderedByPositionAndZeroIsNone) {
  EXPECT_LT(Lsn(0xFFFFFFFF), Lsn(0x100000000));
  EXPECT_FALSE(Lsn().is_valid());
  EXPECT_TRUE(Lsn(1).is_valid());
}

TEST(LsnTest, TheEndOfTheWalIsBeforeThePageHeaderOfTheNextRecord) {
  EXPECT_EQ(EndOfWal(*Lsn::Parse("0/1B40018")), *Lsn::Parse("0/1B40000"));
  EXPECT_EQ(EndOfWal(*Lsn::Parse("0/2000028")), *Lsn::Parse("0/2000000"))
      << "the first page of a segment has a longer one";
  for (const char* elsewhere : {"0/1B40000", "0/1B40020", "0/1B40028"}) {
    EXPECT_EQ(EndOfWal(*Lsn::Parse(elsewhere)), *Lsn::Parse(elsewhere));
  }
}

TEST(LsnTest, CountsBytesBetweenAndNeverBackwards) {
  EXPECT_EQ(BytesBetween(Lsn(100), Lsn(150)), 50u);
  EXPECT_EQ(BytesBetween(Lsn(150), Lsn(100)), 0u);
  EXPECT_EQ(BytesBetween(Lsn(0), Lsn(UINT64_MAX)), UINT64_MAX);
}

}  // namespace
}  // namespace walpost
