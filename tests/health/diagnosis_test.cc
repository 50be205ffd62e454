#include "health/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/reason_code.h"
#include "base/sqlstate.h"

namespace walpost {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

RelaySigns Healthy() {
  RelaySigns signs;
  signs.slot = "orders";
  signs.brokers = "kafka:9092";
  signs.has_streamed = true;
  signs.is_streaming = true;
  signs.brokers_were_reached = true;
  return signs;
}

// `text` is part of the reason; empty: there must be none.
void ExpectState(const RelaySigns& signs, RelayState state,
                 const std::string& text = "") {
  const Diagnosis diagnosis = Diagnose(signs);
  EXPECT_EQ(ToString(diagnosis.state), ToString(state)) << diagnosis.reason;
  EXPECT_THAT(diagnosis.reason, HasSubstr(text));
  if (text.empty()) {
    EXPECT_EQ(diagnosis.reason, "");
  }
}

TEST(DiagnosisTest, P10StreamsWhenAllIsWell) {
  ExpectState(Healthy(), RelayState::kStreaming);
}

TEST(DiagnosisTest, StartsUntilBothEndsAreReached) {
  RelaySigns signs = Healthy();
  signs.is_streaming = false;
  ExpectState(signs, RelayState::kStarting);
  signs = Healthy();
  signs.brokers_were_reached = false;
  ExpectState(signs, RelayState::kStarting,
              "waiting for a Kafka broker at kafka:9092");
}

TEST(DiagnosisTest, P10AStartSaysWhatItWaitsFor) {
  RelaySigns signs = Healthy();
  signs.has_streamed = false;
  signs.is_streaming = false;
  signs.awaited = "Postgres";
  ExpectState(signs, RelayState::kStarting, "waiting for Postgres");
  signs.slot_creation = "slot orders is being created by x";
  ExpectState(signs, RelayState::kStarting, signs.slot_creation);
  // Of the attempt before.
  signs.trouble = absl::UnavailableError("no answer");
  ExpectState(signs, RelayState::kStarting, signs.slot_creation);
}

TEST(DiagnosisTest, P10BrokersThatAreConnectedAndSilentAreStuck) {
  RelaySigns signs = Healthy();
  signs.brokers_are_connected = true;
  signs.brokers_unreachable_for = seconds(8);
  ExpectState(signs, RelayState::kStreaming);
  signs.brokers_unreachable_for = seconds(9);
  ExpectState(signs, RelayState::kStuck, "have answered nothing for 9 s");
  // That is why they have not acknowledged anything.
  signs.in_flight_records = 3;
  signs.unacknowledged_for = seconds(9);
  ExpectState(signs, RelayState::kStuck, "have answered nothing for 9 s");
  signs.brokers_are_connected = false;
  ExpectState(signs, RelayState::kStuck, "no Kafka broker is reachable");
}

TEST(DiagnosisTest, P10OneServerIsNamedWhileOthersAnswer) {
  RelaySigns signs = Healthy();
  signs.brokers_are_connected = true;
  signs.brokers_unreachable_for = seconds(9);
  signs.broker_trouble =
      "stream s waits for hash slot 5: Redis at r:1: refused";
  ExpectState(signs, RelayState::kStuck,
              "one of the Kafka brokers at kafka:9092 is not reachable: stream "
              "s waits for hash slot 5: Redis at r:1: refused");
}

TEST(DiagnosisTest, P10SilentBrokersAreNotAskedForTheirTransactions) {
  RelaySigns signs = Healthy();
  signs.committing_for = seconds(20);
  ExpectState(signs, RelayState::kStuck, "__transaction_state");
  signs.brokers_are_connected = true;
  signs.brokers_unreachable_for = seconds(20);
  ExpectState(signs, RelayState::kStuck, "have answered nothing for 20 s");
}

TEST(DiagnosisTest, P10ARecordMayWaitForTheCoordinator) {
  RelaySigns signs = Healthy();
  signs.unacknowledged_for = seconds(20);
  ExpectState(signs, RelayState::kStuck, "reachable, and is min.insync");
  signs.in_transactions = true;
  ExpectState(signs, RelayState::kStuck, "the leaders of __transaction_state");
}

TEST(DiagnosisTest, P10AStandbySaysThatItCannotSeeTheOtherInstance) {
  RelaySigns signs = Healthy();
  signs.trouble = absl::UnavailableError("in use");
  signs.slot_is_in_use = true;
  signs.slot_user = "walpost:orders:db1:7";
  signs.slot_user_doubt = "GRANT pg_read_all_stats TO relay;";
  ExpectState(signs, RelayState::kStandby,
              "in use by walpost:orders:db1:7; GRANT pg_read_all_stats");
}

TEST(DiagnosisTest, P10ATopicIsUnknownOnlyToBrokersThatAnswer) {
  RelaySigns signs = Healthy();
  signs.brokers_are_connected = true;
  signs.in_flight_records = 1;
  signs.unacknowledged_for = seconds(9);
  signs.unknown_topic = "orders";
  ExpectState(signs, RelayState::kStuck, "not reported topic orders");
  signs.brokers_unreachable_for = seconds(10);
  ExpectState(signs, RelayState::kStuck, "have answered nothing for 10 s");
}

TEST(DiagnosisTest, IsBehindWhenRecordsAreOld) {
  RelaySigns signs = Healthy();
  signs.oldest_in_flight = seconds(3);
  ExpectState(signs, RelayState::kCatchingUp);
}

// Before there is a sink, only the reader of checkpoints speaks to the brokers.
TEST(DiagnosisTest, P10ACheckpointThatCannotBeReadMayBeHidden) {
  RelaySigns signs = Healthy();
  signs.is_streaming = false;
  signs.unread_checkpoint = "topic c";
  signs.checkpoint_unread_for = seconds(8);
  signs.awaited = "the checkpoint";
  ExpectState(signs, RelayState::kStarting, "waiting for the checkpoint");
  signs.checkpoint_unread_for = seconds(9);
  ExpectState(signs, RelayState::kStuck, "checkpoint topic c: it could not");
}

TEST(DiagnosisTest, DrainingComesBeforeEverything) {
  RelaySigns signs = Healthy();
  signs.trouble = absl::UnavailableError("gone");
  signs.draining = true;
  ExpectState(signs, RelayState::kDraining);
}

TEST(DiagnosisTest, P10NamesTheEventThatStopsAll) {
  RelaySigns signs = Healthy();
  signs.stoppage = BlockedEvent{
      {Lsn(0x10), 3}, "order-7", absl::InvalidArgumentError("it has no topic")};
  ExpectState(
      signs, RelayState::kStuck,
      "the event at 0/10/3 (id order-7) cannot be delivered: it has no topic");
  signs.stoppage->reason = Undeliverable(kReasonTopicIllegal, "a/b");
  ExpectState(signs, RelayState::kStuck,
              "cannot be delivered [topic_illegal]: a/b");
  ExpectState(signs, RelayState::kStuck,
              "walpost dead-letter -c FILE 0/10/3 --why REASON, or walpost "
              "skip -c FILE "
              "0/10/3 --why REASON");
  signs.stoppage->is_of_dead_letter = true;
  ExpectState(signs, RelayState::kStuck,
              "about this event: walpost skip -c FILE 0/10/3 --why REASON");
  signs.stoppage->key = "customer-1";
  ExpectState(signs, RelayState::kStuck,
              "the event at 0/10/3 (id order-7, key customer-1) cannot");
  signs.stoppage->event_id.clear();
  ExpectState(signs, RelayState::kStuck, "at 0/10/3 (key customer-1) cannot");
  signs.stoppage->table = "shop.outbox";
  ExpectState(signs, RelayState::kStuck,
              "at 0/10/3 of table shop.outbox (key customer-1) cannot");
}

// A decision is about an event of the stream.
TEST(DiagnosisTest, ARowThatStopsTheSnapshotIsTriedAgain) {
  RelaySigns signs = Healthy();
  signs.stoppage = BlockedEvent{
      {Lsn(), 3}, "order-7", absl::InvalidArgumentError("it has no topic")};
  const std::string reason = Diagnose(signs).reason;
  EXPECT_EQ(reason.find("walpost skip"), std::string::npos) << reason;
  EXPECT_NE(reason.find("tried again"), std::string::npos) << reason;
  EXPECT_EQ(reason.find("the row (id order-7) cannot be delivered"), 0u)
      << reason;
}

TEST(DiagnosisTest, ARecordThatKafkaWillNotTakeNowIsStuck) {
  RelaySigns signs = Healthy();
  signs.held = absl::UnavailableError("topic x does not exist");
  ExpectState(signs, RelayState::kStuck, "topic x does not exist");
  // A full queue is no trouble.
  signs.held = absl::ResourceExhaustedError("queue full");
  ExpectState(signs, RelayState::kStreaming);
}

TEST(DiagnosisTest, ALostStreamIsStuckTheFirstOneStarting) {
  RelaySigns signs = Healthy();
  signs.trouble = absl::UnavailableError("connection refused");
  ExpectState(signs, RelayState::kStuck, "connection refused");
  signs.has_streamed = false;
  ExpectState(signs, RelayState::kStarting, "connection refused");
  signs.trouble_is_poison = true;
  signs.confirmed = Lsn(0x10);
  ExpectState(signs, RelayState::kStuck,
              "connection refused. This happens at 0/10 each time");
  signs.trouble_is_poison = false;
  signs.trouble = absl::FailedPreconditionError("no such slot");
  ExpectState(signs, RelayState::kStuck, "no such slot");
}

TEST(DiagnosisTest, P10RowsThatAreNotPublishedAreTrouble) {
  RelaySigns signs = Healthy();
  signs.publication_trouble = "table outbox is not in publication p";
  ExpectState(signs, RelayState::kStuck, "is not in publication p");
}

TEST(DiagnosisTest, P10AServerThatWaitsForItsStandbysIsStuckAfterAWhile) {
  RelaySigns signs = Healthy();
  signs.server_held_back_by = "slot \"s\" does not have active_pid";
  signs.server_held_back_for = seconds(2);
  ExpectState(signs, RelayState::kStreaming);
  signs.server_held_back_for = seconds(9);
  ExpectState(signs, RelayState::kStuck, "slot \"s\" does not have");
}

TEST(DiagnosisTest, StandsByOnlyBehindAnotherWalpost) {
  RelaySigns signs = Healthy();
  signs.trouble = absl::UnavailableError("in use");
  signs.slot_is_in_use = true;
  ExpectState(signs, RelayState::kStandby, "another walpost");
  signs.slot_user = "walpost:orders:db1:7";
  ExpectState(signs, RelayState::kStandby, "walpost:orders:db1:7");
  signs.slot_user = "pg_recvlogical";
  ExpectState(signs, RelayState::kStuck, "'pg_recvlogical', which is not");
}

TEST(DiagnosisTest, P10StandsByOnlyBehindAWalpostThatStreams) {
  RelaySigns signs = Healthy();
  signs.trouble = absl::UnavailableError("in use");
  signs.slot_is_in_use = true;
  signs.slot_user = "walpost:orders:db1:7";
  signs.slot_user_trouble = "it has not reported for 9 s";
  ExpectState(signs, RelayState::kStuck, "has not reported");
  signs.has_streamed = false;
  ExpectState(signs, RelayState::kStarting, "has not reported");
}

TEST(DiagnosisTest, StandsByWhileAnotherHasTheCursor) {
  RelaySigns signs = Healthy();
  signs.is_streaming = false;
  signs.trouble = absl::UnavailableError("another walpost has the cursor");
  signs.cursor_is_in_use = true;
  ExpectState(signs, RelayState::kStandby, "another walpost has the cursor");
}

TEST(DiagnosisTest, P10NoticesWhoDoesNotAnswer) {
  RelaySigns signs = Healthy();
  signs.server_silent_for = seconds(9);
  ExpectState(signs, RelayState::kStuck, "Postgres has sent nothing for 9 s");
  signs.unanswered_table = "public.outbox";
  ExpectState(signs, RelayState::kStuck,
              "table public.outbox: Postgres has not answered a statement for "
              "9 s");
  signs = Healthy();
  signs.brokers_unreachable_for = seconds(9);
  ExpectState(signs, RelayState::kStuck, "no Kafka broker is reachable");
  signs = Healthy();
  signs.unacknowledged_for = seconds(9);
  signs.in_flight_records = 5;
  ExpectState(signs, RelayState::kStuck, "oldest record for 9 s (5 in flight)");
}

TEST(DiagnosisTest, ASlotThatIsSoonLostIsAtRisk) {
  RelaySigns signs = Healthy();
  signs.wal_budget_level = WalBudget::Level::kWarning;
  ExpectState(signs, RelayState::kStreaming);
  signs.wal_budget_level = WalBudget::Level::kAtRisk;
  signs.retained_wal_bytes = uint64_t{900} << 20;
  signs.wal_budget_bytes = uint64_t{1000} << 20;
  ExpectState(signs, RelayState::kAtRisk, "keeps 900 MiB of WAL for slot ");
}

TEST(DiagnosisTest, NamesEachCauseThatHolds) {
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  RelaySigns signs = Healthy();
  EXPECT_THAT(Diagnose(signs).causes, IsEmpty());
  signs.brokers_unreachable_for = seconds(9);
  EXPECT_THAT(Diagnose(signs).causes, ElementsAre("kafka"));
  signs.trouble = absl::UnavailableError("connection refused");
  EXPECT_THAT(Diagnose(signs).causes, ElementsAre("kafka", "postgres"));
  signs.gap = Gap{"slot_lost", "the slot is lost"};
  EXPECT_THAT(Diagnose(signs).causes, ElementsAre("kafka", "postgres", "slot"));
  for (const std::string_view cause : Diagnose(signs).causes) {
    EXPECT_NE(std::ranges::find(kCauses, cause), std::end(kCauses)) << cause;
  }
}

TEST(DiagnosisTest, AGapIsOneCauseThoughTheStreamFailsBecauseOfIt) {
  RelaySigns signs = Healthy();
  signs.gap = Gap{"slot_missing", "the slot is missing"};
  signs.trouble = StatusOfGap(*signs.gap);
  EXPECT_THAT(Diagnose(signs).causes, ::testing::ElementsAre("slot"));
}

TEST(DiagnosisTest, AStartAndAStandbyHaveNoCause) {
  RelaySigns signs = Healthy();
  signs.is_streaming = false;
  EXPECT_THAT(Diagnose(signs).causes, ::testing::IsEmpty());
  signs.trouble =
      WithSqlstate(absl::UnavailableError("in use"), kSqlstateObjectInUse);
  signs.slot_is_in_use = true;
  ExpectState(signs, RelayState::kStandby, "in use by another walpost");
  EXPECT_THAT(Diagnose(signs).causes, ::testing::IsEmpty());
}

TEST(DiagnosisTest, NamesCredentialsBesidesTheServerThatRejectsThem) {
  using ::testing::ElementsAre;
  RelaySigns signs = Healthy();
  signs.trouble =
      WithSqlstate(absl::FailedPreconditionError("password"), "28P01");
  EXPECT_THAT(Diagnose(signs).causes, ElementsAre("credentials", "postgres"));
  signs.trouble =
      absl::UnavailableError("SSL error: certificate verify failed");
  EXPECT_THAT(Diagnose(signs).causes, ElementsAre("credentials", "postgres"));
  signs = Healthy();
  signs.brokers_reject_credentials = true;  // of one broker of several
  EXPECT_THAT(Diagnose(signs).causes, ::testing::IsEmpty());
  signs.brokers_unreachable_for = seconds(9);
  EXPECT_THAT(Diagnose(signs).causes, ElementsAre("credentials", "kafka"));
}

}  // namespace
}  // namespace walpost
