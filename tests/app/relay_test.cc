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
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
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

}  // namespace
}  // namespace walpost
