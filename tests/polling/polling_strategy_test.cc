// What a strategy stores when not all of its rows arrive, or what arrived
// cannot be stored.
#include "polling/polling_strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "pgoutput/type_oid.h"
#include "support/fake_postgres.h"
#include "support/memory_sink.h"

namespace walpost {
namespace {

using ::testing::AllOf;
using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

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
    schema.columns.insert(schema.columns.end(), more_columns_.begin(),
                          more_columns_.end());
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
  std::vector<pgoutput::ColumnSchema> more_columns_;
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

// It was acknowledged in a transaction that has ended: by now the row may be
// anybody's.
TEST_F(LockStrategyTest, P1ARowOfALostTransactionIsNotDeleted) {
  ASSERT_TRUE(Take().ok());
  AcknowledgeAll();
  Reconnect();
  server_.Answer("SKIP LOCKED", {{"b", "2", "order", "v2"}});
  ASSERT_TRUE(Take().ok());
  AcknowledgeAll();
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(server_.StatementsWith("DELETE"),
              ElementsAre(AllOf(HasSubstr("'b'"), Not(HasSubstr("'a'")))));
}

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Of its conditions, those of the clock are real: a lease is a tenth of a
// second.
class LeaseStrategyTest : public StrategyTest {
 protected:
  LeaseStrategyTest() {
    RowStateOptions& state = outbox_.tables[0].state;
    state = {};
    state.status = "status";
    state.locked_until = "locked";
    state.attempts = "attempts";
    more_columns_ = {{"status", kTextOid},
                     {"locked", 1184},  // timestamptz
                     {"attempts", pgoutput::kInt4Oid}};
    polling_.lease = milliseconds(60'000);
    server_.Answer(kClaim, {Row("a"), Row("b")});
    server_.Answer(kRenew, {});
  }

  static FakePostgres::Row Row(const std::string& id,
                               std::optional<std::string> type = "order") {
    return {id, "1", std::move(type), "v" + id, "processing", "mark1", "0"};
  }
  void Begin() { Start(PollingOptions::Strategy::kClaim); }
  void Acknowledge(size_t index) {
    polling_sender_->OnAcknowledged(sink_.accepted()[index].sequence,
                                    WallNow());
  }
  std::vector<std::string> Marked() {
    return server_.StatementsWith("SET \"status\" = 'published'");
  }
  std::vector<std::string> Renewed() { return server_.StatementsWith(kRenew); }

  static constexpr char kClaim[] = "SKIP LOCKED";
  static constexpr char kRenew[] = "RETURNING u.\"id\", u.\"locked\"";
  static constexpr char kReturn[] = "u.\"locked\" <= now()";
};

TEST_F(LeaseStrategyTest, P1ARowIsMarkedAfterItsAcknowledgement) {
  Begin();
  EXPECT_EQ(strategy_->take_at(), MonotonicTime());
  const MonotonicTime before = Clock::now();
  ASSERT_TRUE(Take().ok());
  EXPECT_THAT(sink_.Values(), ElementsAre("va", "vb"));
  EXPECT_GE(strategy_->take_at(), before + milliseconds(200))
      << "they are slow";
  EXPECT_LE(strategy_->take_at(), Clock::now() + polling_.interval);
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(Marked(), IsEmpty());
  AcknowledgeAll();
  EXPECT_EQ(strategy_->settle_at(), MonotonicTime());
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(Marked(), ElementsAre(HasSubstr("('a', 'b')")));
  EXPECT_EQ(strategy_->take_at(), MonotonicTime()) << "rows behind them";
}

TEST_F(LeaseStrategyTest, NothingIsTakenBeforeWhatIsThereIsStored) {
  Begin();
  ASSERT_TRUE(Take().ok());
  Acknowledge(0);
  ASSERT_TRUE(Settle().ok());
  Acknowledge(1);
  EXPECT_EQ(strategy_->take_at(), MonotonicTime::max());
  EXPECT_EQ(strategy_->settle_at(), MonotonicTime());
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(Marked(), SizeIs(1));
  EXPECT_EQ(strategy_->take_at(), MonotonicTime());
}

// Each attempt is an error in the server's log.
TEST_F(LeaseStrategyTest, ADisturbedClaimIsMadeWithCareForAWhile) {
  outbox_.tables[0].columns.aggregate_id = {FieldSource::Kind::kColumn,
                                            "aggregate_id"};
  more_columns_.push_back({"aggregate_id", kTextOid});
  server_.Answer(kClaim, {});
  server_.Answer("NOWAIT", {});
  Begin();
  ASSERT_TRUE(Take().ok());
  EXPECT_THAT(server_.StatementsWith(kClaim), IsEmpty());
  for (const char* sqlstate : {"55P03", "40001"}) {
    Begin();
    server_.Fail("NOWAIT", sqlstate, "disturbed");
    const size_t tried = server_.StatementsWith("NOWAIT").size();
    ASSERT_TRUE(Take().ok());
    ASSERT_TRUE(Take().ok());
    EXPECT_THAT(server_.StatementsWith("NOWAIT"), SizeIs(tried + 1));
  }
  EXPECT_THAT(server_.StatementsWith(kClaim), SizeIs(4));
}

TEST_F(LeaseStrategyTest, WaitsALittleForTheRestOfABatch) {
  Begin();
  ASSERT_TRUE(Take().ok());
  Acknowledge(0);
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(Marked(), IsEmpty());
  EXPECT_LE(strategy_->settle_at(), Clock::now() + milliseconds(5));
  EXPECT_GT(strategy_->settle_at(), MonotonicTime());
  std::this_thread::sleep_until(strategy_->settle_at());
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(Marked(), ElementsAre(HasSubstr("('a')")));
}

TEST_F(LeaseStrategyTest, HalfABatchIsNotKeptWaiting) {
  polling_.batch_size = 2;
  Begin();
  ASSERT_TRUE(Take().ok());
  Acknowledge(0);
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(Marked(), ElementsAre(HasSubstr("('a')")));
}

TEST_F(LeaseStrategyTest, NothingMoreIsTakenWithFourBatchesInHand) {
  polling_.batch_size = 1;
  Begin();
  for (const char* id : {"a", "b", "c"}) {
    server_.Answer(kClaim, {Row(id)});
    ASSERT_TRUE(Take().ok());
    EXPECT_LT(strategy_->take_at(), MonotonicTime::max()) << id;
  }
  server_.Answer(kClaim, {Row("d")});
  ASSERT_TRUE(Take().ok());
  EXPECT_EQ(strategy_->take_at(), MonotonicTime::max());
}

TEST_F(LeaseStrategyTest, AnEmptyTableIsLookedAtAfterTheInterval) {
  polling_.interval = milliseconds(5'000);
  server_.Answer(kClaim, {});
  Begin();
  const MonotonicTime before = Clock::now();
  ASSERT_TRUE(Take().ok());
  EXPECT_GE(strategy_->take_at(), before + polling_.interval);
  EXPECT_LE(strategy_->take_at(), Clock::now() + polling_.interval);
  strategy_->OnNotified();
  EXPECT_EQ(strategy_->take_at(), MonotonicTime());
}

TEST_F(LeaseStrategyTest, ALeaseIsRenewedAfterAThird) {
  polling_.lease = milliseconds(1'500);
  Begin();
  ASSERT_TRUE(Take().ok());
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(Renewed(), IsEmpty());
  const MonotonicTime ends = strategy_->hold_ends_at();
  server_.Answer(kRenew, {{"b", "mark2"}, {"a", "mark2"}});
  std::this_thread::sleep_for(milliseconds(501));
  EXPECT_LE(strategy_->settle_at(), Clock::now());
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(Renewed(), ElementsAre(AllOf(HasSubstr("'a'"), HasSubstr("'b'"),
                                           HasSubstr("<= 'mark1'"))));
  EXPECT_GE(strategy_->hold_ends_at(), ends + milliseconds(500));
  EXPECT_THAT(strategy_->hold_ends_because(), Not(HasSubstr("another's")));
  std::this_thread::sleep_for(milliseconds(501));
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(Renewed().back(), HasSubstr("<= 'mark2'"));
}

TEST_F(LeaseStrategyTest, P1ARowThatAnotherHasEndsTheHold) {
  polling_.lease = milliseconds(1'500);
  Begin();
  ASSERT_TRUE(Take().ok());
  server_.Answer(kRenew, {{"a", "mark2"}});
  std::this_thread::sleep_for(milliseconds(501));
  ASSERT_TRUE(Settle().ok());
  EXPECT_EQ(strategy_->hold_ends_at(), MonotonicTime());
  EXPECT_THAT(strategy_->hold_ends_because(), HasSubstr("another's"));
  AcknowledgeAll();
  ASSERT_TRUE(Settle().ok());
  server_.Answer(kClaim, {Row("c")});
  ASSERT_TRUE(Take().ok());
  EXPECT_GT(strategy_->hold_ends_at(), MonotonicTime()) << "nothing is held";
}

TEST_F(LeaseStrategyTest, ExpiredRowsAreReturnedByTheQuarterOfALease) {
  polling_.lease = milliseconds(3'000);
  server_.Answer(kClaim, {});
  Begin();
  ASSERT_TRUE(Settle().ok());
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(server_.StatementsWith(kReturn), SizeIs(1));
  EXPECT_LE(strategy_->settle_at(), Clock::now() + milliseconds(750));
  std::this_thread::sleep_until(strategy_->settle_at());
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(server_.StatementsWith(kReturn), SizeIs(2));
  Reconnect();
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(server_.StatementsWith(kReturn), SizeIs(3)) << "at once again";
}

TEST_F(LeaseStrategyTest, ALongLeaseIsLookedAtEveryFiveSeconds) {
  server_.Answer(kClaim, {});
  Begin();
  ASSERT_TRUE(Settle().ok());
  EXPECT_GT(strategy_->settle_at(), Clock::now() + milliseconds(4'000));
  EXPECT_LE(strategy_->settle_at(), Clock::now() + milliseconds(5'000));
}

TEST_F(LeaseStrategyTest, ADurableRowThatCouldNotBeMarkedIsMarkedNextTime) {
  Begin();
  ASSERT_TRUE(Take().ok());
  AcknowledgeAll();
  server_.Fail("SET \"status\" = 'published'", "40001", "serialize");
  EXPECT_FALSE(Settle().ok());
  server_.Answer("SET \"status\" = 'published'", {});
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(Marked(), SizeIs(2));
  EXPECT_THAT(Marked().back(), AllOf(HasSubstr("'a'"), HasSubstr("'b'")));
  EXPECT_THAT(sink_.Values(), ElementsAre("va", "vb"));
}

TEST_F(LeaseStrategyTest, ARowThatCannotBeDeliveredIsReleasedWithItsMark) {
  server_.Answer(kClaim, {Row("a", std::nullopt), Row("b")});
  Begin();
  ASSERT_TRUE(Take().ok());
  AcknowledgeAll();
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(Marked(), ElementsAre(HasSubstr("('b')")));
  const auto refused = server_.StatementsWith("\"attempts\" = coalesce");
  EXPECT_THAT(refused,
              ElementsAre(AllOf(HasSubstr("'a'"), HasSubstr("<= 'mark1'"))));
}

TEST_F(LeaseStrategyTest, P1AfterTheEndOfTheLeaseOnlyDurableRowsAreMarked) {
  polling_.lease = milliseconds(1'000);
  server_.Answer(kClaim, {Row("a", std::nullopt), Row("b")});
  Begin();
  ASSERT_TRUE(Take().ok());
  AcknowledgeAll();
  std::this_thread::sleep_for(milliseconds(1'001));
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(Marked(), ElementsAre(HasSubstr("('b')")));
  EXPECT_THAT(server_.StatementsWith("\"attempts\" = coalesce"), IsEmpty());
}

TEST_F(LeaseStrategyTest, P1AClaimThatTookLongerThanItsLeaseIsNotUsed) {
  polling_.lease = milliseconds(30);
  server_.AnswerAfter(kClaim, {Row("a")}, [] {
    std::this_thread::sleep_for(milliseconds(26));  // five sixths
  });
  Begin();
  ASSERT_TRUE(Take().ok());
  EXPECT_THAT(sink_.Values(), IsEmpty());
}

// The answers of the table are real: only ours come from it.
class LeaseTableStrategyTest : public LeaseStrategyTest {
 protected:
  LeaseTableStrategyTest() {
    outbox_.tables[0].state.locked_until = "";
    more_columns_ = {{"status", kTextOid}, {"attempts", pgoutput::kInt4Oid}};
    polling_.lease_table = "public.leases";
    server_.Answer(kClaim, {Row("a"), Row("b")});
    server_.Answer(kRenewed, {});
  }

  static FakePostgres::Row Row(const std::string& id,
                               std::optional<std::string> type = "order") {
    return {id, "1", std::move(type), "v" + id, "pending", "0"};
  }

  static constexpr char kRenewed[] = "WITH renewed AS";
  static constexpr char kKeep[] = "SET keys = ";
};

// In one transaction with the mark, so that nobody sees the one without the
// other.
TEST_F(LeaseTableStrategyTest, P1RowsAreFreeWhenTheyAreMarked) {
  Begin();
  ASSERT_TRUE(Take().ok());
  EXPECT_THAT(server_.StatementsWith(kKeep), IsEmpty());
  AcknowledgeAll();
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(
      server_.StatementsWith(kKeep),
      ElementsAre(AllOf(HasSubstr("SET \"status\" = 'published'"),
                        HasSubstr("('a', 'b'); UPDATE \"public\".\"leases\""),
                        HasSubstr("SET keys = '{}'"))));
}

TEST_F(LeaseTableStrategyTest, P1ARowInFlightIsKept) {
  Begin();
  ASSERT_TRUE(Take().ok());
  Acknowledge(0);
  std::this_thread::sleep_for(milliseconds(1));
  ASSERT_TRUE(Settle().ok());
  std::this_thread::sleep_until(strategy_->settle_at());
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(server_.StatementsWith(kKeep),
              ElementsAre(AllOf(HasSubstr("u.\"id\" IN ('b')"),
                                HasSubstr("WHERE u.\"id\" IN ('a');"))));
}

TEST_F(LeaseTableStrategyTest, P1ARowThatCouldNotBeMarkedIsKept) {
  Begin();
  ASSERT_TRUE(Take().ok());
  AcknowledgeAll();
  server_.Fail("SET \"status\" = 'published'", "23514", "a constraint");
  EXPECT_FALSE(Settle().ok());
  EXPECT_THAT(server_.StatementsWith(kKeep), SizeIs(1)) << "with the mark";
}

TEST_F(LeaseTableStrategyTest, TheHolderIsTheSameAfterAReconnection) {
  server_.Answer(kRenewed, {{"a", "me"}, {"b", "me"}});
  Begin();
  ASSERT_TRUE(Take().ok());
  Reconnect();
  ASSERT_TRUE(Take().ok());
  const std::vector<std::string> claims = server_.StatementsWith(kClaim);
  ASSERT_THAT(claims, SizeIs(2));
  EXPECT_EQ(claims[0], claims[1]);
  Begin();  // another poller
  ASSERT_TRUE(Take().ok());
  EXPECT_NE(server_.StatementsWith(kClaim).back(), claims[0]);
}

TEST_F(LeaseTableStrategyTest, P1ALeaseThatIsGoneEndsTheHold) {
  polling_.lease = milliseconds(1'500);
  Begin();
  ASSERT_TRUE(Take().ok());
  server_.Answer(kRenewed, {{"a", "me"}});
  std::this_thread::sleep_for(milliseconds(501));
  ASSERT_TRUE(Settle().ok());
  EXPECT_EQ(strategy_->hold_ends_at(), MonotonicTime());
}

// Whoever has deleted it: the rows would be taken, and sent, once more.
TEST_F(LeaseTableStrategyTest, NothingIsTakenBesideRowsWhoseLeaseIsGone) {
  Begin();
  ASSERT_TRUE(Take().ok());
  server_.Answer(kRenewed, {{"a", "me"}, {"b", "me"}});
  server_.Answer(kClaim, {Row("c")});
  ASSERT_TRUE(Take().ok());
  EXPECT_THAT(sink_.Values(), ElementsAre("va", "vb", "vc"));
  server_.Answer(kRenewed, {});
  ASSERT_TRUE(Take().ok());
  EXPECT_THAT(server_.StatementsWith(kClaim), SizeIs(2));
  EXPECT_EQ(strategy_->hold_ends_at(), MonotonicTime());
}

TEST_F(LeaseTableStrategyTest, ARefusalIsOfRowsThatAreOurs) {
  server_.Answer(kClaim, {Row("a", std::nullopt), Row("b")});
  Begin();
  ASSERT_TRUE(Take().ok());
  AcknowledgeAll();
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(server_.StatementsWith("\"attempts\" = coalesce"),
              ElementsAre(AllOf(HasSubstr("AND EXISTS (SELECT FROM"),
                                HasSubstr("SET keys = '{}'"))));
}

TEST_F(LeaseTableStrategyTest, P1DeleteDeletesAfterTheAcknowledgement) {
  Start(PollingOptions::Strategy::kDelete);
  ASSERT_TRUE(Take().ok());
  EXPECT_THAT(server_.StatementsWith("BEGIN"), IsEmpty());
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(server_.StatementsWith("DELETE FROM \"public\".\"outbox\""),
              IsEmpty());
  AcknowledgeAll();
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(server_.StatementsWith("DELETE FROM \"public\".\"outbox\""),
              ElementsAre(HasSubstr("'a', 'b'")));
  EXPECT_THAT(Marked(), IsEmpty());
}

class CursorWindowTest : public StrategyTest {
 protected:
  static constexpr char kNow[] = "pg_snapshot_xmin";
  static constexpr char kLoad[] = "SELECT system_identifier, window_from";
  static constexpr char kSave[] = "INSERT INTO \"public\".\"walpost_cursor\"";
  static constexpr char kLock[] = "pg_try_advisory_lock";
  static constexpr char kFetch[] = " LIMIT ";
  const std::optional<std::string> null_;

  CursorWindowTest() {
    server_.Answer(kLock, {{"t"}});
    server_.Answer(kLoad, {{"77", "20", "20", null_, "5", "0"}});
    server_.Answer(kNow, {{"77", "30", "31", null_}});
    server_.Answer(kFetch, {});
  }
  void Begin() { Start(PollingOptions::Strategy::kCursor); }
};

TEST_F(CursorWindowTest, AWindowOpensUpToWhatHasEnded) {
  Begin();
  EXPECT_EQ(strategy_->hold_ends_at(), MonotonicTime::max());
  EXPECT_EQ(strategy_->settle_at(), MonotonicTime::max());
  server_.Answer(kFetch, {{"a", "6", "order", "v"}});
  ASSERT_TRUE(Take().ok());
  const std::string fetch = server_.StatementsWith(kFetch).back();
  EXPECT_THAT(fetch, AllOf(HasSubstr("'20'"), HasSubstr("'30'")));
  EXPECT_EQ(strategy_->take_at(), MonotonicTime::max()) << "a batch at a time";
  AcknowledgeAll();
  EXPECT_EQ(strategy_->settle_at(), MonotonicTime());
  ASSERT_TRUE(Settle().ok());
  EXPECT_THAT(server_.StatementsWith(kSave).back(),
              HasSubstr("'77', '30'::xid8, '30'::xid8, NULL, 6, 0)"));
  EXPECT_LT(strategy_->take_at(), MonotonicTime::max());
}

TEST_F(CursorWindowTest, WithoutEndedTransactionsNothingIsFetched) {
  server_.Answer(kNow, {{"77", "20", "31", null_}});
  polling_.interval = milliseconds(5'000);
  Begin();
  const MonotonicTime before = Clock::now();
  ASSERT_TRUE(Take().ok());
  EXPECT_THAT(server_.StatementsWith(kFetch), IsEmpty());
  EXPECT_GE(strategy_->take_at(), before + polling_.interval);
  strategy_->OnNotified();
  EXPECT_LE(strategy_->take_at(), Clock::now());
}

TEST_F(CursorWindowTest, AnotherPollerHasTheCursor) {
  server_.Answer(kLock, {{"f"}});
  Begin();
  EXPECT_TRUE(strategy_->is_standby());
  EXPECT_THAT(std::string(strategy_->trouble().message()),
              HasSubstr("another walpost has the cursor of"));
  server_.Answer(kLock, {{"t"}});
  Reconnect();
  EXPECT_FALSE(strategy_->is_standby());
  EXPECT_TRUE(strategy_->trouble().ok());
}

TEST_F(CursorWindowTest, P9RowsOfAnotherClusterArePublishedOnce) {
  server_.Answer(kNow, {{"78", "30", "31", "9"}});
  server_.AnswerInTurn(kFetch, {{{"a", "6", "order", "v"}}, {}});
  Begin();
  ASSERT_TRUE(Take().ok());
  AcknowledgeAll();
  ASSERT_TRUE(Settle().ok());
  ASSERT_TRUE(Take().ok());
  EXPECT_THAT(sink_.Values(), ElementsAre("v"));
  EXPECT_THAT(server_.StatementsWith(kSave).back(), HasSubstr("'78', "));
}

}  // namespace
}  // namespace walpost
