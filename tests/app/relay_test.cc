// A whole relay between a server that knows its answers and the mock brokers:
// an event's way out, and its acknowledgement's way back.
#include "app/live/relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "outbox/numbering.h"
#include "support/message_bytes.h"
#include "support/parking_answers.h"
#include "support/relay_fixture.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;
using namespace testing::wal_source;  // the words of the statements

class RelayTest : public testing::RelayFixture<Relay> {
 protected:
  RelayTest() {
    kafka_.CreateTopic("t.order", 1);
    config_.postgres.slot = "orders";
    config_.postgres.publication = "outbox";
    config_.postgres.status_interval = std::chrono::milliseconds(20);
    config_.outbox.messages.prefix = "outbox";
    config_.outbox.route.topic = "t.{aggregate_type}";
    config_.shutdown_timeout = seconds(3);
    server_.Answer(testing::parking::kDescribe,
                   testing::ParkingTableIsMissing());
    testing::AnswerWalSource(server_);
  }

  void Start() {
    Run(Relay::Create(context_.get_executor(), config_,
                      {config_.outbox, {}, false}));
  }

  // A transaction with one message of this type that ends 0x10 behind.
  static std::vector<std::string> Transaction(uint64_t lsn,
                                              const std::string& type) {
    const std::string content = fmt::format(
        R"({{"id": "i", "aggregate_type": "{}", "aggregate_id": "k", )"
        R"("payload": "v"}})",
        type);
    testing::ByteWriter message;
    message.Char('M').Uint8(1).Uint64(lsn).CString("outbox");
    message.Uint32(static_cast<uint32_t>(content.size())).Raw(content);
    std::vector<std::string> frames;
    for (const std::string& payload :
         {testing::BeginMessage(Lsn(lsn)), message.bytes(),
          testing::CommitMessage(Lsn(lsn), Lsn(lsn + 0x10))}) {
      frames.push_back(testing::XLogDataFrame(Lsn(lsn), 0, payload));
    }
    return frames;
  }
};

TEST_F(RelayTest, P2AnEventIsConfirmedWhenKafkaHasIt) {
  server_.Stream(Transaction(0x400, "order"));
  Start();
  RunUntil([this] { return server_.confirmed() == 0x410; });
  EXPECT_THAT(kafka_.Log("t.order"), ElementsAre(Pair("k", "v")));
  RunUntil([this] { return relay_->Status().server_wal_end == Lsn(0x500); });
  const RelayStatus status = relay_->Status();
  EXPECT_EQ(status.slot, "orders");
  EXPECT_EQ(status.system_identifier, "77");
  EXPECT_EQ(status.timeline, 3u);
  EXPECT_EQ(status.numbering, NumberingOf(config_.outbox, "outbox"));
  EXPECT_EQ(status.server_version, 170002);
  EXPECT_EQ(status.retained_wal_bytes, 333u);  // the guard keeps more
  EXPECT_EQ(status.wal_status, "extended");
  EXPECT_EQ(status.guard_lsn, Lsn(0x280));
  EXPECT_EQ(status.confirmed, Lsn(0x410));
  EXPECT_EQ(status.acknowledged, (Position{Lsn(0x400), 1}));
  EXPECT_EQ(status.in_flight_records, 0u);
  EXPECT_EQ(status.max_in_flight_records, config_.window.max_records);
  EXPECT_EQ(status.max_in_flight_bytes, config_.window.max_bytes);
  EXPECT_EQ(status.counters.acknowledged, 1u);
  EXPECT_EQ(status.reconnects, 0u);
  EXPECT_EQ(status.stoppage, std::nullopt);
}

TEST_F(RelayTest, ShowsHowFarBehindItIsAndWhatItHasSent) {
  server_.Stream(Transaction(0x400, "order"));
  Start();
  RunUntil([this] { return server_.confirmed() == 0x410; });
  RunUntil([this] { return relay_->Status().server_wal_end == Lsn(0x500); });
  const RelayStatus status = relay_->Status();
  using Counts = std::map<std::string, uint64_t>;
  const auto all = [](const NamedCounts& counts) {
    Counts found;
    counts.ForEach([&found](std::string_view name, uint64_t count) {
      found.emplace(name, count);
    });
    return found;
  };
  EXPECT_EQ(all(status.records_by_table), (Counts{{"messages", 1}}));
  EXPECT_EQ(all(status.records_by_topic), (Counts{{"t.order", 1}}));
  RunUntil([this] { return relay_->Status().brokers_connected == 1; });
  EXPECT_LT(status.brokers_heard_age, std::chrono::minutes(1));
  // The server has WAL that it does not send.
  ASSERT_TRUE(status.lag.has_value());
  ASSERT_TRUE(status.oldest_unpublished.has_value());
  EXPECT_GE(*status.oldest_unpublished, *status.lag);
  RunUntil([this, &status] { return relay_->Status().lag > status.lag; });
  EXPECT_GT(relay_->Status().lag, status.lag);
}

TEST_F(RelayTest, ALostGuardSlotKeepsNoWal) {
  FakePostgres::Row row = testing::SideReport();
  row[8] = "t";
  server_.Answer(kReport, {row});
  Start();
  RunUntil([this] { return relay_->Status().server_wal_end == Lsn(0x500); });
  EXPECT_EQ(relay_->Status().retained_wal_bytes, 111u);
}

TEST_F(RelayTest, P10ShutdownEndsInOrder) {
  server_.Stream(Transaction(0x400, "order"));
  Start();
  RunUntil([this] { return relay_->Status().counters.acknowledged == 1; });
  relay_->Shutdown();
  RunUntil([this] { return ended_.has_value(); });
  EXPECT_TRUE(ended_->ok()) << *ended_;
  EXPECT_EQ(server_.confirmed(), 0x410u);
}

TEST_F(RelayTest, P8AnEventThatCannotBeDeliveredStopsUntilAnOperatorDecides) {
  auto frames = Transaction(0x400, "a b");
  for (std::string& frame : Transaction(0x420, "order")) {
    frames.push_back(std::move(frame));
  }
  server_.Stream(std::move(frames));
  Start();
  RunUntil([this] { return relay_->Status().stoppage.has_value(); });
  const RelayStatus status = relay_->Status();
  EXPECT_EQ(status.stoppage->position, (Position{Lsn(0x400), 1}));
  EXPECT_LT(server_.confirmed(), 0x410u);
  EventDecision decision;
  decision.slot = "orders";
  decision.action = ErrorAction::kSkip;
  decision.position = {Lsn(0x400), 1};
  decision.system_identifier = "77";
  decision.timeline = 3;
  decision.numbering = status.numbering;
  decision.digest = status.stoppage->digest;
  decision.by = "alice";
  decision.why = "paid";
  server_.Answer(kComments,
                 {{WithDecision(testing::BirthOfOrders(), decision)}});
  RunUntil([this] { return server_.confirmed() == 0x430; });
  EXPECT_THAT(kafka_.Log("t.order"), SizeIs(1));
  EXPECT_EQ(relay_->Status().stoppage, std::nullopt);
  RunUntil([this] { return !server_.StatementsWith(kComment).empty(); });
  EXPECT_THAT(server_.StatementsWith(kComment).back(), HasSubstr("obeyed=yes"));
}

TEST_F(RelayTest, P8ADecisionAboutAnotherTimelineDecidesNothing) {
  server_.Stream(Transaction(0x400, "a b"));
  Start();
  RunUntil([this] { return relay_->Status().stoppage.has_value(); });
  const RelayStatus status = relay_->Status();
  EventDecision decision;
  decision.slot = "orders";
  decision.position = {Lsn(0x400), 1};
  decision.system_identifier = "77";
  decision.timeline = 2;
  decision.numbering = status.numbering;
  decision.digest = status.stoppage->digest;
  decision.by = "alice";
  server_.Answer(kComments,
                 {{WithDecision(testing::BirthOfOrders(), decision)}});
  const size_t reports = server_.StatementsWith(kReport).size();
  RunUntil(
      [&] { return server_.StatementsWith(kReport).size() > reports + 1; });
  EXPECT_TRUE(relay_->Status().stoppage.has_value());
  EXPECT_LT(server_.confirmed(), 0x410u);
}

TEST_F(RelayTest, P9AGapIsLatchedAndNothingIsStreamed) {
  server_.Answer(kSlot, testing::SlotAt("0/200", "f", "lost"));
  Start();
  RunUntilState(RelayState::kStuck);
  EXPECT_THAT(server_.StatementsWith(kStart), IsEmpty());
  server_.Answer(kSlot, testing::SlotAt("0/200"));
  context_.restart();
  context_.run_for(seconds(2));
  EXPECT_EQ(relay_->Status().state, RelayState::kStuck);
  EXPECT_THAT(server_.StatementsWith(kStart), IsEmpty());
  EXPECT_FALSE(ended_.has_value()) << "it stays up";
}

TEST_F(RelayTest, APausedSlotSendsNothingUntilItIsResumed) {
  const auto record = [](bool is_paused, int64_t at) {
    return PauseRecord{is_paused, "alice", WallTime(seconds(at)), "upgrade"};
  };
  const std::string subject = PauseSubject("orders");
  server_.Answer(
      kComments,
      {{WithPause(testing::BirthOfOrders(), subject, record(true, 50))}});
  server_.Stream(Transaction(0x400, "order"));
  Start();
  RunUntilState(RelayState::kPaused);
  EXPECT_EQ(relay_->Status().pause, record(true, 50));
  EXPECT_THAT(kafka_.Log("t.order"), IsEmpty());
  EXPECT_LT(server_.confirmed(), 0x410u);
  server_.Answer(
      kComments,
      {{WithPause(testing::BirthOfOrders(), subject, record(false, 60))}});
  RunUntil([this] { return server_.confirmed() == 0x410; });
  EXPECT_THAT(kafka_.Log("t.order"), SizeIs(1));
}

TEST_F(RelayTest, AConfigurationThatCannotWorkEndsTheProcess) {
  server_.Answer(kPublication, {});
  Start();
  RunUntil([this] { return ended_.has_value(); });
  EXPECT_TRUE(absl::IsFailedPrecondition(*ended_)) << *ended_;
}

// A promotion that only the side session has noticed.
TEST_F(RelayTest, P5AfterALostStreamWhatKafkaHasIsSkipped) {
  server_.Stream(Transaction(0x400, "order"));
  Start();
  RunUntil([this] { return server_.confirmed() == 0x410; });
  FakePostgres::Row row = testing::SideReport();
  row[15] = "4";
  server_.Answer(kReport, {row});
  RunUntil([this] { return relay_->Status().reconnects == 1; });
  server_.Answer(kReport, {testing::SideReport()});
  RunUntil([this] { return server_.StatementsWith(kStart).size() >= 2; });
  RunUntil([this] { return relay_->Status().counters.repeats >= 1; });
  EXPECT_THAT(kafka_.Log("t.order"), SizeIs(1));
  EXPECT_EQ(relay_->Status().counters.acknowledged, 1u);
}

TEST_F(RelayTest, P10AServerThatShutsDownIsLeft) {
  server_.Stream(Transaction(0x400, "order"));
  Start();
  RunUntil([this] { return server_.confirmed() == 0x410; });
  server_.Drop(kReport);
  server_.Refuse("57P03", "the database system is shutting down");
  RunUntil([this] {
    return relay_->Status().reason.find("57P03") != std::string::npos;
  });
  EXPECT_FALSE(ended_.has_value());
  server_.Answer(kReport, {testing::SideReport()});
  server_.Refuse("", "");
  RunUntil([this] { return relay_->Status().counters.repeats == 1; });
}

// Two cycles: what is behind the failure is sent by the next producer, and
// what is before it is not sent again.
TEST_F(RelayTest, P3AProducerThatFailedIsReplaced) {
  auto frames = Transaction(0x400, "order");
  server_.Stream(frames);
  Start();
  RunUntil([this] { return server_.confirmed() == 0x410; });
  kafka_.FailOnce(0, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
  for (std::string& frame : Transaction(0x420, "order")) {
    frames.push_back(std::move(frame));
  }
  server_.Stream(std::move(frames));
  FakePostgres::Row row = testing::SideReport();
  row[15] = "4";
  server_.Answer(kReport, {row});
  RunUntil([this] { return relay_->Status().reconnects == 1; });
  server_.Answer(kReport, {testing::SideReport()});
  RunUntil([this] { return relay_->Status().counters.rewinds == 1; });
  RunUntil([this] { return server_.confirmed() == 0x430; });
  EXPECT_THAT(kafka_.Log("t.order"), SizeIs(2));
  EXPECT_EQ(relay_->Status().counters.acknowledged, 2u);
  EXPECT_EQ(relay_->Status().in_flight_records, 0u);
}

class PatternRelayTest : public RelayTest {
 protected:
  static constexpr char kMatching[] = "NOT c.relispartition";
  static constexpr char kExisting[] = "SELECT number FROM tables";

  PatternRelayTest() {
    config_.outbox.patterns.resize(1);
    config_.outbox.patterns[0].name = "app.o*";
    server_.Answer(
        "n.nspname || '.' || c.relname FROM pg_catalog.pg_class c "
        "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.oid = ANY",
        {});
    server_.Answer(kMatching, {});
    server_.Answer(kExisting, {});
    const std::optional<std::string> null;
    server_.Answer("format_type(a.atttypid",
                   {{"0", "id", "20", "bigint", "", null},
                    {"0", "aggregate_type", "25", "text", "", null},
                    {"0", "aggregate_id", "25", "text", "", null},
                    {"0", "payload", "25", "text", "", null}});
    server_.Answer("CASE WHEN c.relkind = 'r'",
                   {{"0", "r", null, null, "f", "app.o1"}});
    server_.Answer("attnames, rowfilter", {{"app.o1", null, null}});
    server_.Answer("WHERE c.relkind = 'f'", {});
    SetDigest("1");
  }
  void SetDigest(const std::string& digest) {
    server_.Answer(kCoverage, {{"16388:690", std::nullopt, std::nullopt}});
    server_.Answer(kDigest, {{digest}});
  }
  void Match(const std::string& name) {
    server_.Answer(kMatching, {{name, "t", "f", name}});
  }
};

TEST_F(PatternRelayTest, ATableThatMatchesIsForTheNextRelay) {
  Match("app.o1");
  server_.Answer(kExisting, {{"0"}});
  Start();
  RunUntil([this] { return ended_.has_value(); });
  EXPECT_TRUE(ended_->ok()) << *ended_;
  ASSERT_NE(relay_->next(), nullptr);
  ASSERT_THAT(relay_->next()->outbox.tables, SizeIs(1));
  EXPECT_EQ(relay_->next()->outbox.tables[0].name, "app.o1");
  EXPECT_FALSE(relay_->next()->has_streamed);
  EXPECT_THAT(server_.StatementsWith(kStart), IsEmpty());
}

TEST_F(PatternRelayTest, ATableThatIsNewWhileItStreamsIsTakenUp) {
  server_.Stream(Transaction(0x400, "order"));
  Start();
  RunUntil([this] { return server_.confirmed() == 0x410; });
  EXPECT_EQ(relay_->next(), nullptr);
  Match("app.o1");
  SetDigest("2");
  RunUntil([this] { return ended_.has_value(); });
  EXPECT_TRUE(ended_->ok()) << *ended_;
  ASSERT_NE(relay_->next(), nullptr);
  ASSERT_THAT(relay_->next()->outbox.tables, SizeIs(1));
  EXPECT_EQ(relay_->next()->outbox.tables[0].name, "app.o1");
  EXPECT_TRUE(relay_->next()->has_streamed);
}

// The rows of app.outbox, and a transaction behind them.
class SnapshotRelayTest : public RelayTest {
 protected:
  SnapshotRelayTest() {
    config_.postgres.initial_snapshot = true;
    config_.postgres.create = true;
    config_.outbox.tables.resize(1);
    config_.outbox.tables[0].name = "app.outbox";
    const std::optional<std::string> null;
    server_.Answer("format_type(a.atttypid",
                   {{"0", "id", "20", "bigint", "", null},
                    {"0", "aggregate_type", "25", "text", "", null},
                    {"0", "aggregate_id", "25", "text", "", null},
                    {"0", "payload", "25", "text", "", null}});
    server_.Answer("a.attidentity", {{"id", "20", "t"}});
    server_.Answer("pg_catalog.set_config", {{""}});  // what Kafka may delete
    server_.Answer("SELECT a.attname::text", {});
    server_.Answer("pg_try_advisory_lock", {{"t"}});
    server_.Answer("SELECT pg_catalog.pg_current_wal_insert_lsn()",
                   {{"0/700"}});
    server_.Answer("CASE WHEN c.relkind = 'r'",
                   {{"0", "r", null, null, "f", "app.outbox"}});
    server_.Answer("attnames, rowfilter", {{"app.outbox", null, null}});
    server_.Answer("WHERE c.relkind = 'f'", {});
    server_.Answer("pg_stat_get_tuples_updated", {});
    server_.Answer("SELECT count(*) FROM \"app\".\"outbox\"", {{"2"}});
    server_.Answer(kCoverage, {{"16388:690", "app.outbox", "1.r1:5"}});
    server_.Answer(kDigest, {{"1 2 3"}});
    server_.AnswerInTurn(
        "FETCH",
        {{{"1", "order", "k1", "v1"}, {"2", "order", "k2", "v2"}}, {}});
    server_.Answer(kSlot, testing::SlotAt("0/150"));
    BirthRecord record = *FindBirthRecord(testing::BirthOfOrders(), "orders");
    record.coverage = "16388:690,app.outbox=1.r1:5,*=passed";
    server_.Answer(kComments, {{WithBirthRecord("", record)}});
  }
};

TEST_F(SnapshotRelayTest, P1RowsFromBeforeTheSlotGoFirst) {
  server_.Stream(Transaction(0x400, "order"));
  Start();
  RunUntil([this] { return server_.confirmed() == 0x410; });
  EXPECT_THAT(kafka_.Log("t.order"),
              ElementsAre(Pair("k1", "v1"), Pair("k2", "v2"), Pair("k", "v")));
  const auto written = server_.StatementsWith(kComment);
  ASSERT_THAT(written, Not(IsEmpty()));
  EXPECT_GT(FindBirthRecord(testing::CommentOf(written.front()), "orders")
                ->streamed_from,
            0u);
  EXPECT_EQ(relay_->Status().counters.acknowledged, 3u);
  // Rows lie before the place where the slot begins, 0/150, and events behind.
  const auto positions = kafka_.Headers("t.order", "walpost-position");
  ASSERT_THAT(positions, SizeIs(3));
  EXPECT_THAT(positions[0].value_or(""),
              StartsWith("00000003-000000000000014F-"));
  EXPECT_THAT(positions[1].value_or(""),
              StartsWith("00000003-000000000000014F-"));
  EXPECT_NE(positions[0], positions[1]);
  EXPECT_EQ(positions[2], "00000003-0000000000000400-0000000000000001");
  EXPECT_THAT(kafka_.Headers("t.order", "walpost-snapshot"),
              ElementsAre("0/150", "0/150", std::nullopt));
}

TEST_F(SnapshotRelayTest, P8ARowThatCannotBeDeliveredStopsTheSnapshot) {
  server_.AnswerInTurn(
      "FETCH", {{{"1", "order", "k1", "v1"}, {"2", "a b", "k2", "v2"}}, {}});
  server_.Stream(Transaction(0x400, "order"));
  Start();
  RunUntil([this] { return relay_->Status().stoppage.has_value(); });
  EXPECT_EQ(relay_->Status().stoppage->event_id, "2");
  EXPECT_THAT(server_.StatementsWith(kStart), IsEmpty());
  EXPECT_THAT(server_.StatementsWith(kComment), IsEmpty());
}

TEST_F(SnapshotRelayTest, ASlotThatWasUsedHasNoSnapshotAnyMore) {
  server_.Answer(kSlot, testing::SlotAt("0/200"));
  server_.Stream(Transaction(0x400, "order"));
  Start();
  RunUntil([this] { return server_.confirmed() == 0x410; });
  EXPECT_THAT(kafka_.Log("t.order"), ElementsAre(Pair("k", "v")));
}

// Without a store, a record of an older release does not tell which tables were
// taken up: rows that the publication had are no gap.
TEST_F(SnapshotRelayTest, P9WithoutAStoreTheRecordIsAllThatIsKnown) {
  config_.postgres.initial_snapshot = false;
  BirthRecord record = *FindBirthRecord(testing::BirthOfOrders(), "orders");
  record.coverage = "16388:690";
  record.added.reset();
  server_.Answer(kComments, {{WithBirthRecord("", record)}});
  server_.Answer("sum(greatest(reltuples", {{"700"}});
  server_.Answer("SELECT r.xmin, r.cmin", {{"740", "3"}});
  server_.Answer("SELECT NOT active", {{"f"}});
  server_.AnswerInTurn(") counted", {{{"10"}}, {{"4"}}});
  server_.Answer(kSlot, testing::SlotAt("0/200"));
  server_.Stream(Transaction(0x400, "order"));
  Start();
  RunUntil([this] { return server_.confirmed() == 0x410; });
}

}  // namespace
}  // namespace walpost
