#include "admin/lsn_wait.h"

#include <gtest/gtest.h>

#include <string>

#include "delivery/gap.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;

RelayStatus Streaming() {
  RelayStatus status;
  status.state = RelayState::kStreaming;
  status.slot = "orders";
  status.slot_birth = Lsn(0x100);
  status.confirmed = Lsn(0x200);
  return status;
}

TEST(LsnWaitTest, AQueryNamesAnLsnAndATime) {
  const auto wait = ParseLsnWait("lsn=16/B374D838&timeout=2.5");
  ASSERT_TRUE(wait.ok()) << wait.status();
  EXPECT_EQ(wait->lsn.ToString(), "16/B374D838");
  EXPECT_EQ(wait->timeout, milliseconds(2'500));
  const auto escaped = ParseLsnWait("lsn=16%2FB374D838");
  ASSERT_TRUE(escaped.ok()) << escaped.status();
  EXPECT_EQ(escaped->lsn, wait->lsn);
  EXPECT_EQ(escaped->timeout, milliseconds(0));
}

TEST(LsnWaitTest, WhatIsNoQuestionIsRefused) {
  for (const char* query :
       {"", "lsn", "lsn=", "lsn=x", "lsn=0/0", "timeout=1", "lsn=0/1&timeout=x",
        "lsn=0/1&timeout=-1", "lsn=0/1&timeout=61", "lsn=0/1&timeout=nan",
        "lsn=0/1&timeout=", "lsn=0/1&event=7", "lsn=0/1&"}) {
    const auto wait = ParseLsnWait(query);
    EXPECT_TRUE(absl::IsInvalidArgument(wait.status())) << query;
    EXPECT_NE(wait.status().message().find("as in /wait?lsn="),
              absl::string_view::npos)
        << query;
  }
}

TEST(LsnWaitTest, WhatIsConfirmedIsAcknowledged) {
  const RelayStatus status = Streaming();
  EXPECT_TRUE(Answer({Lsn(0x100)}, status).ok());
  EXPECT_TRUE(Answer({Lsn(0x200)}, status).ok());
  const absl::Status later = Answer({Lsn(0x201)}, status);
  EXPECT_TRUE(absl::IsUnavailable(later));
  EXPECT_EQ(later.message(), "acknowledged up to 0/200; streaming");
}

// The header of a page is no record that could be confirmed.
TEST(LsnWaitTest, TheEndOfWalOnANewPageIsTheEndOfTheOneBefore) {
  RelayStatus status = Streaming();
  status.confirmed = Lsn(0x2000);
  EXPECT_TRUE(Answer({Lsn(0x2018)}, status).ok());
}

TEST(LsnWaitTest, WhatIsOlderThanTheSlotIsRefused) {
  const absl::Status answer = Answer({Lsn(0xff)}, Streaming());
  EXPECT_TRUE(absl::IsInvalidArgument(answer));
  EXPECT_NE(answer.message().find("lies before slot orders"),
            absl::string_view::npos);
}

TEST(LsnWaitTest, InAGapNothingIsAcknowledged) {
  RelayStatus status = Streaming();
  status.state = RelayState::kStuck;
  status.reason = "the slot is gone";
  status.reason_code = kGapSlotMissing;
  const absl::Status answer = Answer({Lsn(0x150)}, status);
  EXPECT_TRUE(absl::IsUnavailable(answer));
  EXPECT_EQ(answer.message(), "not known; stuck: the slot is gone");
}

TEST(LsnWaitTest, AStandbyDoesNotKnow) {
  RelayStatus status = Streaming();
  status.state = RelayState::kStandby;
  EXPECT_TRUE(absl::IsUnavailable(Answer({Lsn(0x150)}, status)));
  status = Streaming();
  status.confirmed = Lsn();
  EXPECT_TRUE(absl::IsUnavailable(Answer({Lsn(0x150)}, status)));
}

TEST(LsnWaitTest, PolledRowsHaveNoLsn) {
  RelayStatus status = Streaming();
  status.polled_tables.emplace_back();
  EXPECT_TRUE(absl::IsInvalidArgument(Answer({Lsn(0x150)}, status)));
}

}  // namespace
}  // namespace walpost
