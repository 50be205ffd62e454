#include "postgres/birth_record.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

const BirthRecord kOrders{"orders", Lsn(0x1A2B3C8), "7710532146069433627"};
const BirthRecord kAudit{"audit", Lsn(0x10), "7"};

TEST(BirthRecordTest, IsFoundAgain) {
  const std::string comment = WithBirthRecord("", kOrders);
  EXPECT_EQ(comment,
            "walpost: slot orders born at 0/1A2B3C8 of system "
            "7710532146069433627");
  EXPECT_EQ(FindBirthRecord(comment, "orders"), kOrders);
}

TEST(BirthRecordTest, LeavesTheRestOfTheCommentAlone) {
  std::string comment = WithBirthRecord("Ours.\nDo not drop.", kOrders);
  comment = WithBirthRecord(comment, kAudit);
  EXPECT_TRUE(comment.starts_with("Ours.\nDo not drop.\nwalpost: "));
  EXPECT_EQ(FindBirthRecord(comment, "orders"), kOrders);
  EXPECT_EQ(FindBirthRecord(comment, "audit"), kAudit);
}

TEST(BirthRecordTest, ReplacesThatOfTheSameSlot) {
  const BirthRecord younger{"orders", Lsn(0x2000000), "8"};
  const std::string comment =
      WithBirthRecord(WithBirthRecord("", kOrders), younger);
  EXPECT_EQ(FindBirthRecord(comment, "orders"), younger);
  EXPECT_EQ(comment.find('\n'), std::string::npos);
}

TEST(BirthRecordTest, AnythingElseIsNone) {
  for (const char* comment :
       {"", "walpost", "walpost: slot orders", "slot orders born at 0/1",
        "walpost: slot orders born at x/y of system 7",
        "walpost: slot others born at 0/1 of system 7"}) {
    EXPECT_EQ(FindBirthRecord(comment, "orders"), std::nullopt) << comment;
  }
}

}  // namespace
}  // namespace walpost
