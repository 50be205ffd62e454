// What a strategy stores when not all of its rows arrive, or what arrived
// cannot be stored.
#include "polling/polling_strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <utility>

#include "pgoutput/type_oid.h"
#include "support/fake_postgres.h"
#include "support/memory_sink.h"

namespace walpost {
namespace {

using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t kTextOid = 25;

class StrategyTest : public ::testing::Test {
 protected:
  StrategyTest() {
    outbox_.tables.resize(1);
    outbox_.tables[0].order_by = "seq";
    outbox_.tables[0].state.transaction_id = "tx";
    outbox_.route.topic = std::string("{aggregate_type}");
    polling_.batch_size = 10;
    polling_sender_ = std::make_unique<PollingSender>(
        *RecordBuilder::Create(outbox_), AcknowledgementWindow::Options());
    polling_sender_->SetSink(&sink_);
    rows_ = std::make_unique<RowSender>(outbox_, 0, polling_.batch_size,
                                        *polling_sender_);
  }

  ConnectionOptions Options() const {
    ConnectionOptions options;
    options.server = server_.options();
    return options;
  }

  void Start(PollingOptions::Strategy strategy) {
    polling_.strategy = strategy;
    strategy_ = MakePollingStrategy(outbox_.tables[0].state,
                                    {polling_, gauge_, connection_, *rows_});
    Reconnect();
  }

  // As the poller does it.
  void Reconnect() {
    connection_.Close();
    strategy_->OnConnectionLost();
    ASSERT_TRUE(Await(context_, connection_.Open()).ok());
    pgoutput::RelationSchema schema;
    schema.schema = "public";
    schema.name = "outbox";
    schema.columns = {{"id", kTextOid},
                      {"seq", pgoutput::kInt8Oid},
                      {"aggregate_type", kTextOid},
                      {"payload", kTextOid}};
    auto table = MakePolledTable(outbox_.tables[0], schema);
    ASSERT_TRUE(table.ok()) << table.status();
    ASSERT_TRUE(rows_->SetTable(*std::move(table), "UTF8").ok());
    const absl::Status begun = Await(context_, strategy_->Begin());
    ASSERT_TRUE(begun.ok()) << begun;
  }

  absl::Status Take() { return Await(context_, strategy_->Take()); }
  absl::Status Settle() { return Await(context_, strategy_->Settle()); }

  // Acknowledges what was accepted since the last call.
  void AcknowledgeAll() {
    for (; acknowledged_ < sink_.accepted().size(); ++acknowledged_) {
      polling_sender_->OnAcknowledged(sink_.accepted()[acknowledged_].sequence,
                                      WallNow());
    }
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  OutboxOptions outbox_;
  PollingOptions polling_;
  testing::MemorySink sink_;
  size_t acknowledged_ = 0;
  std::unique_ptr<PollingSender> polling_sender_;
  std::unique_ptr<RowSender> rows_;
  BacklogGauge gauge_{"public.outbox"};
  TableConnection connection_{context_.get_executor(), Options(),
                              [] { return MonotonicTime::max(); }};
  std::unique_ptr<PollingStrategy> strategy_;
};

class CursorStrategyTest : public StrategyTest {
 protected:
  CursorStrategyTest() {
    server_.Answer("pg_try_advisory_lock", {{"t"}});
    server_.Answer("SELECT system_identifier, window_from",
                   {{"77", "10", "20", std::nullopt, std::nullopt, "0"}});
    Start(PollingOptions::Strategy::kCursor);
    saved_before_ = server_.StatementsWith(kSave).size();
  }

  void AnswerFetch(FakePostgres::Rows rows) {
    server_.Answer("FROM \"public\".\"outbox\" o WHERE", std::move(rows));
  }

  // Positions stored since the beginning.
  std::vector<std::string> Saved() {
    std::vector<std::string> saved = server_.StatementsWith(kSave);
    saved.erase(saved.begin(),
                saved.begin() + static_cast<ptrdiff_t>(saved_before_));
    return saved;
  }

  static constexpr char kSave[] = "INSERT INTO \"public\".\"walpost_cursor\"";
  size_t saved_before_ = 0;
};

TEST_F(CursorStrategyTest, ABatchThatArrivedWholeEndsItsWindow) {
  AnswerFetch({{"a", "1", "order", "v1"}, {"b", "2", "order", "v2"}});
  ASSERT_TRUE(Take().ok());
  AcknowledgeAll();
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(sink_.Values(), ElementsAre("v1", "v2"));
  EXPECT_THAT(
      Saved(),
      ElementsAre(HasSubstr("'77', '20'::xid8, '20'::xid8, NULL, 2, 0)")));
}

// The second row has no topic. Its window stays open, and continues there.
TEST_F(CursorStrategyTest, P1AWindowDoesNotEndBeforeARowThatCannotBeDelivered) {
  AnswerFetch({{"a", "1", "order", "v1"}, {"b", "2", std::nullopt, "v2"}});
  ASSERT_TRUE(Take().ok());
  EXPECT_THAT(Saved(), IsEmpty());
  AcknowledgeAll();
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(Saved(),
              ElementsAre(HasSubstr("'77', '10'::xid8, '20'::xid8, 1, 1, 0)")));
  EXPECT_THAT(std::string(strategy_->trouble().message()), HasSubstr("row b"));
  AnswerFetch({{"b", "2", "order", "v2"}});
  ASSERT_TRUE(Take().ok());
  EXPECT_THAT(server_.statements().back(), HasSubstr("o.\"seq\" > 1"));
  AcknowledgeAll();
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(sink_.Values(), ElementsAre("v1", "v2"));
}

TEST_F(CursorStrategyTest, P1NothingIsStoredWhileARowIsInFlight) {
  AnswerFetch({{"a", "1", "order", "v1"}, {"b", "2", "order", "v2"}});
  ASSERT_TRUE(Take().ok());
  polling_sender_->OnAcknowledged(sink_.accepted()[1].sequence, WallNow());
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(Saved(), IsEmpty());
}

class LockStrategyTest : public StrategyTest {
 protected:
  LockStrategyTest() {
    server_.Answer("SKIP LOCKED", {{"a", "1", "order", "v1"}});
    Start(PollingOptions::Strategy::kDelete);
  }
};

TEST_F(LockStrategyTest, P1ARowIsDeletedAfterItsAcknowledgement) {
  ASSERT_TRUE(Take().ok());
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(server_.StatementsWith("DELETE"), IsEmpty());
  AcknowledgeAll();
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(server_.StatementsWith("DELETE"), ElementsAre(HasSubstr("'a'")));
  EXPECT_EQ(server_.statements().back(), "COMMIT");
}

TEST_F(LockStrategyTest, ARowWhoseCommitFailedIsNotSentAgain) {
  ASSERT_TRUE(Take().ok());
  AcknowledgeAll();
  server_.Fail("COMMIT", "40001", "could not serialize access");
  EXPECT_FALSE(Settle().ok());
  server_.Answer("COMMIT", {});
  Reconnect();
  ASSERT_TRUE(Take().ok());
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(sink_.Values(), ElementsAre("v1"));
  EXPECT_THAT(server_.StatementsWith("DELETE"),
              ElementsAre(HasSubstr("'a'"), HasSubstr("'a'")));
  ASSERT_TRUE(Take().ok());
  EXPECT_THAT(sink_.Values(), ElementsAre("v1", "v1"))
      << "another row of this id, written since";
}

}  // namespace
}  // namespace walpost
