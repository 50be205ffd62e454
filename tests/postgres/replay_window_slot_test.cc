// The guard slot behind a slot: when it is made, and what is said of it.
#include "postgres/slot/replay_window_slot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "support/each_statement.h"
#include "support/fake_postgres.h"
#include "support/log_lines.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using namespace testing::wal_source;  // the words of the statements

constexpr char kCopy[] = "pg_copy_logical_replication_slot";
constexpr char kDrop[] = "SELECT pg_drop_replication_slot";
constexpr char kFailover[] = "ALTER_REPLICATION_SLOT";

class ReplayWindowSlotTest : public ::testing::Test {
 protected:
  ReplayWindowSlotTest() {
    server_.Answer(kCopy, {{"0/300"}});
    server_.Answer(kDrop, {{""}});
  }

  absl::Status Ensure(bool failover) {
    const auto connection = testing::Connect(context_, server_);
    return Await(context_, EnsureGuardSlot(*connection, "orders", failover));
  }
  void SetUp(bool has_window) {
    const auto connection = testing::Connect(context_, server_);
    WalSourceOptions options;
    options.slot = "orders";
    options.replay.window_bytes = has_window ? 0x100 : 0;
    Await(context_, [&]() -> boost::asio::awaitable<bool> {
      co_await SetUpGuardSlot(*connection, options);
      co_return true;
    }());
  }
  // Column 5 says whether the slot has the flag.
  void SetGuard(const std::string& status, const std::string& failover) {
    FakePostgres::Rows rows = testing::SlotAt("0/200", "f", status);
    rows[0][5] = failover;
    server_.Answer(kSlot, rows);
  }
  void SetNoGuard() { server_.Answer(kSlot, {}); }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
};

TEST_F(ReplayWindowSlotTest, AMissingGuardIsACopyOfTheSlot) {
  SetNoGuard();
  ASSERT_TRUE(Ensure(/*failover=*/false).ok());
  EXPECT_THAT(server_.StatementsWith(kCopy),
              ElementsAre(HasSubstr("('orders', 'orders_guard', false)")));
  EXPECT_THAT(server_.StatementsWith(kFailover), IsEmpty());
  EXPECT_THAT(server_.StatementsWith(kDrop), IsEmpty());
}

TEST_F(ReplayWindowSlotTest, AGuardThatIsThereStaysAsItIs) {
  SetGuard("reserved", "f");
  ASSERT_TRUE(Ensure(/*failover=*/false).ok());
  SetGuard("reserved", "t");
  ASSERT_TRUE(Ensure(/*failover=*/true).ok());
  EXPECT_THAT(server_.StatementsWith(kCopy), IsEmpty());
  EXPECT_THAT(server_.StatementsWith(kFailover), IsEmpty());
}

TEST_F(ReplayWindowSlotTest, ALostGuardIsReplaced) {
  const testing::LogLines log;
  SetGuard("lost", "f");
  ASSERT_TRUE(Ensure(/*failover=*/false).ok());
  EXPECT_THAT(server_.StatementsWith(kDrop), SizeIs(1));
  EXPECT_THAT(server_.StatementsWith(kCopy), SizeIs(1));
  EXPECT_THAT(log.Of(LogLevel::kError),
              ElementsAre(HasSubstr("guard slot orders_guard is lost")));
}

// A copy never has the flag.
TEST_F(ReplayWindowSlotTest, FailoverIsSetOnAGuardThatLacksIt) {
  SetGuard("reserved", "f");
  ASSERT_TRUE(Ensure(/*failover=*/true).ok());
  EXPECT_THAT(server_.StatementsWith(kFailover),
              ElementsAre(HasSubstr("orders_guard")));
  SetNoGuard();
  ASSERT_TRUE(Ensure(/*failover=*/true).ok());
  EXPECT_THAT(server_.StatementsWith(kFailover), SizeIs(2));
}

TEST_F(ReplayWindowSlotTest, AnOlderServerHasNoFailover) {
  server_.SetVersion("16.4");
  SetNoGuard();
  ASSERT_TRUE(Ensure(/*failover=*/true).ok());
  EXPECT_THAT(server_.StatementsWith(kCopy), SizeIs(1));
  EXPECT_THAT(server_.StatementsWith(kFailover), IsEmpty());
}

TEST_F(ReplayWindowSlotTest, EachErrorIsReported) {
  SetGuard("lost", "f");
  const auto ensure = [this] { return Ensure(/*failover=*/true); };
  EXPECT_THAT(testing::UnreportedFailures(server_, ensure), IsEmpty());
}

TEST_F(ReplayWindowSlotTest, AGuardThatCannotBeMadeIsAWarning) {
  const testing::LogLines log;
  SetNoGuard();
  server_.Fail(kCopy, "53400", "all replication slots are in use");
  SetUp(/*has_window=*/true);
  EXPECT_THAT(log.Warnings(), ElementsAre(HasSubstr("there is no replay")));
}

TEST_F(ReplayWindowSlotTest, AGuardWithoutAWindowIsAWarning) {
  const testing::LogLines log;
  SetGuard("reserved", "f");
  SetUp(/*has_window=*/false);
  EXPECT_THAT(
      log.Warnings(),
      ElementsAre(HasSubstr("keep WAL since 0/100: SELECT "
                            "pg_drop_replication_slot('orders_guard');")));
  EXPECT_THAT(server_.StatementsWith(kCopy), IsEmpty());
  SetNoGuard();
  SetUp(/*has_window=*/false);
  EXPECT_THAT(log.Warnings(), SizeIs(1));
}

}  // namespace
}  // namespace walpost
