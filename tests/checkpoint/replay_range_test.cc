#include "checkpoint/replay_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace walpost {
namespace {

using ::testing::HasSubstr;

class ReplayRangeTest : public ::testing::Test {
 protected:
  ReplayRangeTest() {
    server_.system_identifier = "77";
    server_.timeline = 2;
    server_.slot = "orders";
    server_.oldest = Lsn(0x200);
    server_.confirmed = Lsn(0x400);
    checkpoint_.system_identifier = "77";
    checkpoint_.timeline = 2;
    checkpoint_.slot = "orders";
    checkpoint_.confirmed = Lsn(0x300);
  }

  static ReplayRequest FromTo(uint64_t from, uint64_t to) {
    ReplayRequest request;
    request.from = Lsn(from);
    request.to = Lsn(to);
    return request;
  }
  // The error says so.
  void ExpectError(const ReplayRequest& request, absl::StatusCode code,
                   const std::string& words) const {
    const absl::Status status = ChooseReplayRange(request, server_).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }
  void ExpectOtherWal(const std::string& words) const {
    ReplayRequest request;
    request.checkpoint = checkpoint_;
    ExpectError(request, absl::StatusCode::kFailedPrecondition, words);
  }

  ReplayServer server_;
  Checkpoint checkpoint_;
};

TEST_F(ReplayRangeTest, IsAllOfTheWindowUnlessAPartIsAskedFor) {
  const auto all = ChooseReplayRange(ReplayRequest(), server_);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->from, Lsn(0x200));
  EXPECT_EQ(all->to, Lsn(0x400));
  EXPECT_EQ(all->timeline, 2u);
  EXPECT_FALSE(all->since);
  const auto part = ChooseReplayRange(FromTo(0x210, 0x3F0), server_);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->from, Lsn(0x210));
  EXPECT_EQ(part->to, Lsn(0x3F0));
}

TEST_F(ReplayRangeTest, HasTheTimeAsTheServerReadsIt) {
  server_.since = WallTime(std::chrono::hours(2));
  ReplayRequest request;
  request.since = "1h";
  const auto range = ChooseReplayRange(request, server_);
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_EQ(range->since, server_.since);
}

TEST_F(ReplayRangeTest, MayBeEmpty) {
  const auto range = ChooseReplayRange(FromTo(0x400, 0), server_);
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_TRUE(range->is_empty());
}

TEST_F(ReplayRangeTest, BeginsAtACheckpointOfThisWal) {
  ReplayRequest request;
  request.checkpoint = checkpoint_;
  const auto range = ChooseReplayRange(request, server_);
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_EQ(range->from, Lsn(0x300));
}

TEST_F(ReplayRangeTest, ACheckpointOfAnotherSystemIsRejected) {
  checkpoint_.system_identifier = "88";
  ExpectOtherWal("means nothing here");
}

TEST_F(ReplayRangeTest, ACheckpointOfAnotherSlotIsRejected) {
  checkpoint_.slot = "invoices";
  ExpectOtherWal("means nothing here");
}

TEST_F(ReplayRangeTest, ACheckpointOfAnotherTimelineIsRejected) {
  checkpoint_.timeline = 1;
  ExpectOtherWal("--from-lsn");
}

TEST_F(ReplayRangeTest, NamesTheOldestLsnIfTheWalWasRemoved) {
  ExpectError(FromTo(0x1FF, 0), absl::StatusCode::kFailedPrecondition,
              "left to replay from is 0/200");
  checkpoint_.confirmed = Lsn(0x1FF);
  ExpectOtherWal("the oldest LSN that is left");
}

TEST_F(ReplayRangeTest, EndsAtTheConfirmedLsn) {
  ExpectError(FromTo(0, 0x401), absl::StatusCode::kInvalidArgument,
              "--to-lsn 0/401");
}

TEST_F(ReplayRangeTest, DoesNotEndBeforeItBegins) {
  ExpectError(FromTo(0x301, 0x300), absl::StatusCode::kInvalidArgument,
              "0/301 is not before 0/300");
}

}  // namespace
}  // namespace walpost
