// Which rows are in Kafka is decided at one moment: the mark.
#include "retention/acknowledged_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <string>

#include "support/fake_postgres.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;

constexpr char kLook[] = "pg_current_wal_insert_lsn";
constexpr char kSlot[] = "pg_replication_slots";

class AcknowledgedGateTest : public ::testing::Test {
 protected:
  AcknowledgedGateTest() {
    server_.Answer(kLook, {{"745", "0/300"}});
    server_.Answer("pg_logical_emit_message", {{"0/308"}});
    const absl::Status connected =
        Await(context_, gate_.Connect(server_.options()));
    EXPECT_TRUE(connected.ok()) << connected;
  }

  static FakePostgres::Rows Slot(const std::string& confirmed,
                                 const std::string& wal_status = "reserved") {
    return {{"pgoutput", wal_status, "t", "0/100", confirmed, "f", "f", "d",
             "d", "logical"}};
  }

  absl::Status Wait(uint64_t lsn, milliseconds limit) {
    AcknowledgedGate::Mark mark;
    mark.lsn = Lsn(lsn);
    return Await(context_,
                 gate_.WaitUntilPassed(mark, steady_clock::now() + limit));
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  AcknowledgedGate gate_{context_.get_executor(), "orders", "prune"};
};

// Else the LSN could lie before a commit that the snapshot sees.
TEST_F(AcknowledgedGateTest, TheMarkIsTakenInOneStatement) {
  const auto mark = Await(context_, gate_.TakeMark());
  ASSERT_TRUE(mark.ok()) << mark.status();
  EXPECT_EQ(mark->oldest_running, "745");
  EXPECT_EQ(mark->lsn, Lsn(0x300));
  // The snapshot comes first, and the insert position: a commit is visible
  // before it is written.
  EXPECT_THAT(server_.statements(),
              ElementsAre("SELECT pg_snapshot_xmin(pg_current_snapshot()), "
                          "pg_current_wal_insert_lsn()",
                          HasSubstr("pg_logical_emit_message(true")));
}

TEST_F(AcknowledgedGateTest, ThereIsNoMarkWithoutItsLsn) {
  server_.Answer(kLook, {{"745", "?"}});
  EXPECT_FALSE(Await(context_, gate_.TakeMark()).ok());
  server_.Fail(kLook, "57014", "canceled");
  EXPECT_FALSE(Await(context_, gate_.TakeMark()).ok());
}

TEST_F(AcknowledgedGateTest, P11WaitsUntilTheSlotHasConfirmedTheMark) {
  server_.AnswerInTurn(kSlot, {Slot("0/200"), Slot("0/2FF"), Slot("0/300")});
  const absl::Status status = Wait(0x300, std::chrono::minutes(1));
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(server_.StatementsWith(kSlot).size(), 3u);
}

TEST_F(AcknowledgedGateTest, P11GivesUpAtTheDeadlineAndSaysWhatIsMissing) {
  server_.Answer(kSlot, Slot("0/2FF"));
  const absl::Status status = Wait(0x300, milliseconds(1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("slot orders has confirmed 0/2FF, and what is "
                        "committed reaches 0/300"));
}

TEST_F(AcknowledgedGateTest, P11ALostSlotProvesNothingWhereverItStands) {
  server_.Answer(kSlot, Slot("0/300", "lost"));
  EXPECT_TRUE(absl::IsFailedPrecondition(Wait(0x300, milliseconds(1))));
}

TEST_F(AcknowledgedGateTest, P11WithoutASlotNothingIsAcknowledged) {
  server_.Answer(kSlot, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(Wait(0x300, milliseconds(1))));
}

TEST_F(AcknowledgedGateTest, AWaitCanBeStopped) {
  server_.Answer(kSlot, Slot("0/200"));
  gate_.Stop();
  EXPECT_TRUE(absl::IsCancelled(Wait(0x300, std::chrono::minutes(1))));
}

}  // namespace
}  // namespace walpost
