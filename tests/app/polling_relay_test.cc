// A relay that polls, between a server that knows its answers and the mock
// brokers.
#include "app/polling/polling_relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "app/sink/sinks.h"
#include "support/polled_table_answers.h"
#include "support/relay_fixture.h"

namespace walpost {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using namespace testing::polling;  // the words of the statements

class PollingRelayTest : public testing::RelayFixture<PollingRelay> {
 protected:
  PollingRelayTest() {
    testing::AnswerPolledTable(server_);
    config_.source = Source::kPolling;
    config_.polling.strategy = PollingOptions::Strategy::kDelete;
    config_.outbox = testing::PolledOutbox();
    config_.shutdown_timeout = seconds(2);
    kafka_.CreateTopic("order", 1);
  }

  void Start() {
    Run(PollingRelay::Create(context_.get_executor(), config_,
                             {config_.outbox, {}, false},
                             MakeSinks(context_.get_executor(), config_)));
  }
  void AnswerOneRow(const std::optional<std::string>& type = "order") {
    server_.AnswerInTurn(kTake, {{{"a", "1", type, "v1"}}, {}});
  }
};

TEST_F(PollingRelayTest, P1ARowIsMarkedWhenItsRecordIsAcknowledged) {
  AnswerOneRow();
  Start();
  RunUntil([this] { return !server_.StatementsWith(kDelete).empty(); });
  RunUntilState(RelayState::kStreaming);
  const RelayStatus status = relay_->Status();
  EXPECT_EQ(status.counters.acknowledged, 1u);
  EXPECT_EQ(status.in_flight_records, 0u);
  EXPECT_EQ(status.max_in_flight_records, config_.window.max_records);
  EXPECT_EQ(status.max_in_flight_bytes, config_.window.max_bytes);
  ASSERT_THAT(status.polled_tables, SizeIs(1));
  EXPECT_EQ(status.polled_tables[0].table, "app.outbox");
  EXPECT_EQ(status.server_version, 170002);
  EXPECT_EQ(status.reconnects, 0u);
  EXPECT_THAT(kafka_.Log("order"), SizeIs(1));
}

TEST_F(PollingRelayTest, P10ShutdownMarksWhatIsAcknowledgedMeanwhile) {
  AnswerOneRow();
  Start();
  RunUntil([this] { return relay_->Status().in_flight_records == 1; });
  EXPECT_GT(relay_->Status().in_flight_bytes, 0u);
  relay_->Shutdown();
  RunUntil([this] { return ended_.has_value(); });
  EXPECT_TRUE(ended_->ok()) << *ended_;
  EXPECT_THAT(server_.StatementsWith(kDelete), SizeIs(1));
}

TEST_F(PollingRelayTest, ATableThatCannotBePolledEndsTheProcess) {
  server_.Answer(kIndexes, {});
  Start();
  RunUntil([this] { return ended_.has_value(); });
  EXPECT_TRUE(absl::IsFailedPrecondition(*ended_)) << *ended_;
  EXPECT_THAT(std::string(ended_->message()), HasSubstr("no index on id"));
}

// What worked before may work again.
TEST_F(PollingRelayTest, P10ATableThatWasPolledBeforeIsWaitedFor) {
  Start();
  RunUntilState(RelayState::kStreaming);
  server_.Answer(kIndexes, {});
  server_.Drop(kTake);
  // The lost connection is reported first.
  RunUntil([this] {
    const RelayStatus status = relay_->Status();
    return status.state == RelayState::kStuck &&
           status.reason.find("no index on id") != std::string::npos;
  });
  EXPECT_FALSE(ended_.has_value());
  server_.Answer(kIndexes,
                 {{"id", std::nullopt, "t"}, {"seq", std::nullopt, "t"}});
  server_.Answer(kTake, {});
  RunUntilState(RelayState::kStreaming);
  EXPECT_GT(relay_->Status().reconnects, 0u);
}

TEST_F(PollingRelayTest, APausedTableIsReported) {
  const PauseRecord pause{true, "alice", WallTime(seconds(50)), "upgrade"};
  server_.Answer(kComment, {{WithPause("", kPollingPauseSubject, pause)}});
  Start();
  RunUntilState(RelayState::kPaused);
  EXPECT_EQ(relay_->Status().pause, pause);
}

// Its producer can go no further, and its row is sent by the next one.
TEST_F(PollingRelayTest, P1AProducerThatFailedIsReplaced) {
  kafka_.FailOnce(0, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
  server_.AnswerInTurn(
      kTake, {{{"a", "1", "order", "v1"}}, {{"a", "1", "order", "v1"}}, {}});
  Start();
  RunUntil([this] { return relay_->Status().counters.rewinds == 1; });
  RunUntil([this] { return !server_.StatementsWith(kDelete).empty(); });
  EXPECT_EQ(relay_->Status().counters.acknowledged, 1u);
  EXPECT_EQ(relay_->Status().counters.rewinds, 1u);
  EXPECT_THAT(kafka_.Log("order"), SizeIs(1));
}

TEST_F(PollingRelayTest, ATableThatIsNewByItsPatternIsForTheNextRelay) {
  config_.outbox.patterns.resize(1);
  config_.outbox.patterns[0].name = "app.o*";
  config_.outbox.patterns[0].order_by = "seq";
  server_.Answer("NOT c.relispartition", {});
  Start();
  RunUntilState(RelayState::kStreaming);
  EXPECT_EQ(relay_->next(), nullptr);
  server_.Answer("NOT c.relispartition", {{"app.o2", "f", "f", "app.o2"}});
  RunUntil([this] { return ended_.has_value(); });
  EXPECT_TRUE(ended_->ok()) << *ended_;
  ASSERT_NE(relay_->next(), nullptr);
  ASSERT_THAT(relay_->next()->outbox.tables, SizeIs(2));
  EXPECT_EQ(relay_->next()->outbox.tables[1].name, "app.o2");
  EXPECT_TRUE(relay_->next()->has_streamed);
}

}  // namespace
}  // namespace walpost
