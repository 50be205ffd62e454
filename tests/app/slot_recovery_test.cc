// What recover asks of the server, and of what is on record.
#include "app/backfill/slot_recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "app/backfill/read_events_on_record.h"
#include "support/each_statement.h"
#include "support/fake_postgres.h"
#include "support/parking_answers.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using namespace testing::wal_source;  // the words of the statements

class SlotRecoveryTest : public ::testing::Test {
 protected:
  SlotRecoveryTest() {
    config_.postgres.server = server_.options();
    config_.postgres.slot = "orders";
    config_.postgres.publication = "outbox";
    testing::AnswerEmptyParking(server_);
    testing::AnswerWalSource(server_);
    server_.Answer(testing::parking::kDescribe,
                   testing::ParkingTableIsMissing());
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  Config config_;
};

TEST_F(SlotRecoveryTest, EachColumnOfTheServerIsInItsField) {
  server_.Answer("pg_snapshot_xmax(pg_current_snapshot())",
                 {{"6000000", "745", "0/510"}});
  SlotRecovery recovery(context_.get_executor(), config_);
  const absl::Status connected = Await(context_, recovery.Connect());
  ASSERT_TRUE(connected.ok()) << connected;
  const auto server = Await(context_, recovery.LookAtServer());
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(server->system_identifier, "77");
  EXPECT_EQ(server->timeline, 3u);
  EXPECT_EQ(server->started_at, WallTime(std::chrono::seconds(6)));
  EXPECT_EQ(server->next_transaction, 745u);
  EXPECT_EQ(server->wal_end, Lsn(0x510));
}

TEST_F(SlotRecoveryTest, KafkaIsAskedOnlyIfItMayKnowMore) {
  config_.kafka.brokers = "127.0.0.1:1";  // nobody answers there
  OnRecordQuery query;
  query.verb = "snapshot";
  query.if_unknown = ParkedList::IfUnknown::kEmpty;
  query.asks_kafka = false;
  bool failed_at_kafka = false;
  const auto events =
      Await(context_, ReadEventsOnRecord(context_.get_executor(), config_,
                                         query, &failed_at_kafka));
  EXPECT_TRUE(events.ok()) << events.status();
  EXPECT_FALSE(failed_at_kafka);
}

// What was not read is not "nothing on record".
TEST_F(SlotRecoveryTest, P11NoErrorOfAStatementIsAnEmptyRecord) {
  config_.kafka.brokers = "127.0.0.1:1";  // nobody answers there
  OnRecordQuery query;
  query.verb = "recover";
  query.asks_kafka = false;
  server_.Answer(testing::parking::kDescribe, testing::ParkingTableIsThere());
  server_.Answer("SELECT number, position, state", {});
  const auto read = [&] {
    return Await(context_, ReadEventsOnRecord(context_.get_executor(), config_,
                                              query, nullptr))
        .status();
  };
  EXPECT_THAT(testing::UnreportedFailures(server_, read), IsEmpty());
}

TEST_F(SlotRecoveryTest, EachErrorOfAStatementKeepsTheGap) {
  server_.Answer("pg_snapshot_xmax(pg_current_snapshot())",
                 {{"6000000", "745", "0/510"}});
  server_.Answer("SELECT pg_drop_replication_slot", {{""}});
  server_.Answer("pg_copy_logical_replication_slot", {{"(orders,0/300)"}});
  config_.postgres.failover = true;
  const auto recover = [this]() -> absl::Status {
    SlotRecovery recovery(context_.get_executor(), config_);
    absl::Status status = Await(context_, recovery.Connect());
    if (!status.ok()) return status;
    status = Await(context_, recovery.LookAtServer()).status();
    return status.ok() ? Await(context_, recovery.Keep({})) : status;
  };
  // That the birth of the new slot is not on record is said in the log.
  EXPECT_THAT(
      testing::UnreportedFailures(server_, recover),
      ElementsAre(HasSubstr("pg_advisory_lock"), HasSubstr(kComments),
                  HasSubstr(kComment), HasSubstr("pg_advisory_unlock")));
}

}  // namespace
}  // namespace walpost
