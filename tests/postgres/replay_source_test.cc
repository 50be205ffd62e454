// What may be replayed, against a server that knows its answers by heart. The
// stream itself is in tests/session and tests/e2e.
#include "postgres/stream/replay_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <utility>

#include "support/fake_postgres.h"

namespace walpost {
namespace {

using testing::Await;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NoTaker final : public EventConsumer {
 public:
  bool CanTake() const override { return true; }
  Offer OnEvent(const Event&, const absl::Status&) override {
    return Offer::kAccepted;
  }
  void OnTransactionEnd(Lsn) override {}
  void OnKeepalive(Lsn) override {}
  Lsn confirmable() const override { return Lsn(); }
  bool IsDrained() const override { return true; }
  absl::Status Health() const override { return absl::OkStatus(); }
};

class ReplaySourceTest : public ::testing::Test {
 protected:
  ReplaySourceTest() {
    server_.Answer("IDENTIFY_SYSTEM", {{"77", "2", "0/500", std::nullopt}});
    // The live slot, its guard slot, and the copy of that.
    server_.AnswerInTurn("pg_replication_slots slot",
                         {Slot("0/400"), Slot("0/200"), Slot("0/200")});
    server_.Answer("pg_copy_logical_replication_slot", {{"copy"}});
    checkpoint_.slot = "orders";
    checkpoint_.system_identifier = "77";
    checkpoint_.timeline = 2;
    checkpoint_.confirmed = Lsn(0x400);
  }

  static FakePostgres::Rows Slot(const std::string& confirmed) {
    return {{"pgoutput", "reserved", "t", "0/100", confirmed, "f", "f", "d",
             "d", "logical"}};
  }

  absl::Status Open(ReplayRequest request) {
    WalSourceOptions options;
    options.server = server_.options();
    options.slot = "orders";
    source_.emplace(context_.get_executor(), options, OutboxOptions(),
                    std::vector<std::vector<std::string>>(1), consumer_,
                    /*number=*/0);
    return Await(context_, source_->Open(std::move(request)));
  }

  absl::Status OpenAtCheckpoint() {
    ReplayRequest request;
    request.checkpoint = checkpoint_;
    return Open(std::move(request));
  }

  void ExpectRefused(const absl::Status& status, const std::string& words) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
    EXPECT_THAT(server_.StatementsWith("START_REPLICATION"), IsEmpty());
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  NoTaker consumer_;
  Checkpoint checkpoint_;
  std::optional<ReplaySource> source_;
};

TEST_F(ReplaySourceTest, FromACheckpointAtTheSlotThereIsNothingToReplay) {
  const absl::Status status = OpenAtCheckpoint();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(source_->range().from, Lsn(0x400));
  EXPECT_EQ(source_->range().to, Lsn(0x400));
  EXPECT_TRUE(source_->reached_end());
}

TEST_F(ReplaySourceTest, ACheckpointOfAnotherSystemIsRefused) {
  checkpoint_.system_identifier = "88";
  ExpectRefused(OpenAtCheckpoint(), "means nothing here");
}

TEST_F(ReplaySourceTest, ACheckpointOfAnotherSlotIsRefused) {
  checkpoint_.slot = "invoices";
  ExpectRefused(OpenAtCheckpoint(), "means nothing here");
}

TEST_F(ReplaySourceTest, ACheckpointOfAnotherTimelineIsRefused) {
  checkpoint_.timeline = 1;
  ExpectRefused(OpenAtCheckpoint(), "--from-lsn");
}

TEST_F(ReplaySourceTest, WalBeforeTheGuardSlotWasRemoved) {
  checkpoint_.confirmed = Lsn(0x1FF);
  ExpectRefused(OpenAtCheckpoint(), "the oldest LSN that is left");
}

TEST_F(ReplaySourceTest, NothingBehindTheConfirmedLsnIsReplayed) {
  ReplayRequest request;
  request.from = Lsn(0x401);
  request.to = Lsn(0x401);
  const absl::Status status = Open(request);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("--to-lsn 0/401"));
}

}  // namespace
}  // namespace walpost
