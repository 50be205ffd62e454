#include "admin/lsn_wait.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace walpost {
namespace {

using std::chrono::milliseconds;

RelayStatus Streaming() {
  RelayStatus status;
  status.state = RelayState::kStreaming;
  status.slot = "orders";
  status.slot_birth = Lsn(0x100);
  status.confirmed = Lsn(0x200);
  status.is_streaming = true;
  status.look_age = milliseconds(999);
  return status;
}

// As asked a second ago.
absl::Status Answer(Lsn lsn, const RelayStatus& status) {
  return walpost::Answer({lsn}, status, milliseconds(1'000));
}

TEST(LsnWaitTest, AQueryNamesAnLsnAndATime) {
  const auto wait = ParseLsnWait("lsn=16/B374D838&timeout=2.5");
  ASSERT_TRUE(wait.ok()) << wait.status();
  EXPECT_EQ(wait->lsn.ToString(), "16/B374D838");
  EXPECT_EQ(wait->timeout, milliseconds(2'500));
  const auto escaped = ParseLsnWait("lsn=16%2FB374D838");
  ASSERT_TRUE(escaped.ok()) << escaped.status();
  EXPECT_EQ(escaped->lsn, wait->lsn);
  EXPECT_EQ(escaped->timeout, milliseconds(5'000));
}

TEST(LsnWaitTest, WhatIsNoQuestionIsRefused) {
  for (const char* query :
       {"", "lsn", "lsn=", "lsn=x", "lsn=0/0", "timeout=1", "lsn=0/1&timeout=x",
        "lsn=0/1&timeout=-1", "lsn=0/1&timeout=0", "lsn=0/1&timeout=61",
        "lsn=0/1&timeout=nan", "lsn=0/1&timeout=", "lsn=0/1&event=7",
        "lsn=0/1&"}) {
    const auto wait = ParseLsnWait(query);
    EXPECT_TRUE(absl::IsInvalidArgument(wait.status())) << query;
    EXPECT_NE(wait.status().message().find("as in /wait?lsn="),
              absl::string_view::npos)
        << query;
  }
}

TEST(LsnWaitTest, WhatIsConfirmedIsAcknowledged) {
  const RelayStatus status = Streaming();
  EXPECT_TRUE(Answer(Lsn(0x100), status).ok());
  EXPECT_TRUE(Answer(Lsn(0x200), status).ok());
  const absl::Status later = Answer(Lsn(0x201), status);
  EXPECT_TRUE(absl::IsUnavailable(later));
  EXPECT_EQ(later.message(),
            "not acknowledged: Kafka has everything up to 0/200; streaming");
}

// The header of a page is no record that could be confirmed.
TEST(LsnWaitTest, TheEndOfWalOnANewPageIsTheEndOfTheOneBefore) {
  RelayStatus status = Streaming();
  status.confirmed = Lsn(0x2000);
  EXPECT_TRUE(Answer(Lsn(0x2018), status).ok());
}

TEST(LsnWaitTest, WhatIsOlderThanTheSlotIsRefused) {
  const absl::Status answer = Answer(Lsn(0xff), Streaming());
  EXPECT_TRUE(absl::IsInvalidArgument(answer));
  EXPECT_NE(
      answer.message().find("is not known to have come through slot orders"),
      absl::string_view::npos);
}

TEST(LsnWaitTest, InAGapNothingIsAcknowledged) {
  RelayStatus status = Streaming();
  status.has_gap = true;
  const absl::Status answer = Answer(Lsn(0x150), status);
  EXPECT_TRUE(absl::IsUnavailable(answer));
  EXPECT_EQ(answer.message(), "not acknowledged: there is a gap; streaming");
}

// What the publication did not send was passed, too.
TEST(LsnWaitTest, SlotAndPublicationAreLookedAtAfterTheQuestion) {
  RelayStatus status = Streaming();
  status.look_age = milliseconds(1'000);
  EXPECT_TRUE(absl::IsUnavailable(Answer(Lsn(0x150), status)));
  status.look_age.reset();
  EXPECT_TRUE(absl::IsUnavailable(Answer(Lsn(0x150), status)));
}

// The server may be another one when it is there again.
TEST(LsnWaitTest, WithoutAStreamNothingIsKnown) {
  RelayStatus status = Streaming();
  status.is_streaming = false;
  EXPECT_TRUE(absl::IsUnavailable(Answer(Lsn(0x150), status)));
}

TEST(LsnWaitTest, AStandbyDoesNotKnow) {
  RelayStatus status = Streaming();
  status.state = RelayState::kStandby;
  EXPECT_TRUE(absl::IsUnavailable(Answer(Lsn(0x150), status)));
  status = Streaming();
  status.confirmed = Lsn();
  EXPECT_TRUE(absl::IsUnavailable(Answer(Lsn(0x150), status)));
}

TEST(LsnWaitTest, PolledRowsHaveNoLsn) {
  RelayStatus status = Streaming();
  status.polled_tables.emplace_back();
  EXPECT_TRUE(absl::IsInvalidArgument(Answer(Lsn(0x150), status)));
}

}  // namespace
}  // namespace walpost
