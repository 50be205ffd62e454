// Several signs at once: which condition is shown, whatever came first.
#include "health/condition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error_source.h"
#include "base/reason_code.h"
#include "health/diagnosis.h"

namespace walpost {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

RelaySigns Healthy() {
  RelaySigns signs;
  signs.slot = "orders";
  signs.brokers = "kafka:9092";
  signs.has_streamed = true;
  signs.is_streaming = true;
  signs.brokers_were_reached = true;
  return signs;
}

struct Row {
  std::string name;
  // Rows of one group use the same sign: only one can hold at a time.
  std::string group;
  Permanence permanence;
  RelayState state;
  std::string reason;  // begins so
  std::string code;
  void (*set)(RelaySigns&);
};

void SetTrouble(RelaySigns& signs, absl::Status trouble) {
  signs.trouble = std::move(trouble);
  signs.is_streaming = false;
}

constexpr Permanence kOperator = Permanence::kOperator;
constexpr Permanence kMayPass = Permanence::kMayPass;
constexpr Permanence kInformation = Permanence::kInformation;

// The order of severity, as docs/states.md has it.
const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      {"gap", "gap", kOperator, RelayState::kStuck, "[slot_lost] slot orders",
       "slot_lost",
       [](RelaySigns& signs) {
         signs.gap = Gap{kGapSlotLost, "slot orders is lost"};
       }},
      {"publication", "publication", kOperator, RelayState::kStuck,
       "table outbox is not in publication p", "",
       [](RelaySigns& signs) {
         signs.publication_trouble = "table outbox is not in publication p";
       }},
      {"event", "event", kOperator, RelayState::kStuck,
       "the event at 0/10/3 cannot be delivered [topic_illegal]",
       "topic_illegal",
       [](RelaySigns& signs) {
         signs.stoppage = BlockedEvent{
             {Lsn(0x10), 3}, "", Undeliverable(kReasonTopicIllegal, "a/b")};
       }},
      {"foreign_user", "trouble", kOperator, RelayState::kStuck,
       "slot orders is in use by 'pg_recvlogical'", "",
       [](RelaySigns& signs) {
         SetTrouble(signs, absl::UnavailableError("in use"));
         signs.slot_is_in_use = true;
         signs.slot_user = "pg_recvlogical";
       }},
      {"poison", "trouble", kOperator, RelayState::kStuck,
       "bad frame. This happens at 0/0 each time", "",
       [](RelaySigns& signs) {
         SetTrouble(signs, absl::DataLossError("bad frame"));
         signs.trouble_is_poison = true;
       }},
      {"unreadable_checkpoint", "trouble", kOperator, RelayState::kStuck,
       "[checkpoint_unreadable] file c", "checkpoint_unreadable",
       [](RelaySigns& signs) {
         SetTrouble(signs,
                    WithReasonCode(absl::FailedPreconditionError("file c"),
                                   kReasonCheckpointUnreadable));
       }},
      {"no_right", "trouble", kOperator, RelayState::kStuck,
       "must be a replication role", "",
       [](RelaySigns& signs) {
         SetTrouble(signs, absl::FailedPreconditionError(
                               "must be a replication role"));
       }},
      {"forbidden_checkpoint", "checkpoint", kOperator, RelayState::kStuck,
       "no checkpoint can be written", "",
       [](RelaySigns& signs) {
         signs.checkpoint_failing_for = seconds(9);
         signs.checkpoint_trouble = absl::FailedPreconditionError("no right");
       }},
      {"paused", "wal", kOperator, RelayState::kPaused,
       "by alice since 1970-01-01T00:00:00Z: upgrade. Meanwhile "
       "Postgres keeps the WAL for slot orders: 0 MiB",
       "",
       [](RelaySigns& signs) {
         signs.pause = PauseRecord{true, "alice", WallTime(), "upgrade"};
       }},
      {"no_postgres", "trouble", kMayPass, RelayState::kStuck,
       "connection refused", "",
       [](RelaySigns& signs) {
         SetTrouble(signs, absl::UnavailableError("connection refused"));
       }},
      {"frozen_user", "trouble", kMayPass, RelayState::kStuck,
       "it has not reported for 9 s", "",
       [](RelaySigns& signs) {
         SetTrouble(signs, absl::UnavailableError("in use"));
         signs.slot_is_in_use = true;
         signs.slot_user = "walpost:orders:db1:7";
         signs.slot_user_trouble = "it has not reported for 9 s";
       }},
      {"silent_postgres", "silence", kMayPass, RelayState::kStuck,
       "Postgres has sent nothing for 9 s", "",
       [](RelaySigns& signs) { signs.server_silent_for = seconds(9); }},
      {"standbys", "standbys", kMayPass, RelayState::kStuck,
       "Postgres sends nothing before its standbys", "",
       [](RelaySigns& signs) {
         signs.server_held_back_for = seconds(9);
         signs.server_held_back_by = "slot s";
       }},
      {"unstored", "parking_table", kMayPass, RelayState::kStuck,
       "table public.parked of parked events has not answered for 9 s, and 2 "
       "events wait to be stored: it waits for a lock",
       "",
       [](RelaySigns& signs) {
         signs.parking.table = "public.parked";
         signs.parking.unanswered_for = seconds(9);
         signs.parking.unstored = 2;
         signs.parking.waits_for = "it waits for a lock";
       }},
      {"no_broker", "brokers", kMayPass, RelayState::kStuck,
       "no Kafka broker is reachable", "",
       [](RelaySigns& signs) { signs.brokers_unreachable_for = seconds(9); }},
      {"frozen_brokers", "brokers", kMayPass, RelayState::kStuck,
       "the Kafka brokers at kafka:9092 have answered nothing for 9 s", "",
       [](RelaySigns& signs) {
         signs.brokers_unreachable_for = seconds(9);
         signs.brokers_are_connected = true;
       }},
      {"unread_checkpoint", "reading", kMayPass, RelayState::kStuck,
       "checkpoint topic c: it could not be read", "",
       [](RelaySigns& signs) {
         signs.unread_checkpoint = "topic c";
         signs.checkpoint_unread_for = seconds(9);
       }},
      {"no_sink", "trouble", kMayPass, RelayState::kStuck, "no answer of Kafka",
       "",
       [](RelaySigns& signs) {
         SetTrouble(signs,
                    FromKafka(absl::UnavailableError("no answer of Kafka")));
       }},
      {"fenced", "trouble", kMayPass, RelayState::kStuck, "[fenced] by another",
       "fenced",
       [](RelaySigns& signs) {
         SetTrouble(signs,
                    FromKafka(WithReasonCode(absl::AbortedError("by another"),
                                             kReasonFenced)));
       }},
      {"failing_checkpoint", "checkpoint", kMayPass, RelayState::kStuck,
       "no checkpoint can be written", "",
       [](RelaySigns& signs) {
         signs.checkpoint_failing_for = seconds(9);
         signs.checkpoint_trouble = absl::UnavailableError("a lock");
       }},
      {"held", "held", kMayPass, RelayState::kStuck, "topic x does not exist",
       "",
       [](RelaySigns& signs) {
         signs.held = absl::UnavailableError("topic x does not exist");
       }},
      {"commit", "commit", kMayPass, RelayState::kStuck,
       "the brokers have not committed a transaction for 9 s", "",
       [](RelaySigns& signs) { signs.committing_for = seconds(9); }},
      {"topic", "unacknowledged", kMayPass, RelayState::kStuck,
       "the brokers have not reported topic t", "",
       [](RelaySigns& signs) {
         signs.unacknowledged_for = seconds(9);
         signs.unknown_topic = "t";
       }},
      {"record", "unacknowledged", kMayPass, RelayState::kStuck,
       "Kafka has not acknowledged the oldest record for 9 s", "",
       [](RelaySigns& signs) { signs.unacknowledged_for = seconds(9); }},
      {"start", "stream", kMayPass, RelayState::kStarting,
       "waiting for Postgres", "",
       [](RelaySigns& signs) {
         signs.is_streaming = false;
         signs.awaited = "Postgres";
       }},
      {"wal_budget", "wal", kMayPass, RelayState::kAtRisk,
       "Postgres keeps 900 MiB of WAL for slot orders", "",
       [](RelaySigns& signs) {
         signs.wal_budget_level = WalBudget::Level::kAtRisk;
         signs.retained_wal_bytes = uint64_t{900} << 20;
         signs.wal_budget_bytes = uint64_t{1000} << 20;
       }},
      {"standby", "trouble", kInformation, RelayState::kStandby,
       "slot orders is in use by walpost:orders:db1:7", "",
       [](RelaySigns& signs) {
         SetTrouble(signs, absl::UnavailableError("in use"));
         signs.slot_is_in_use = true;
         signs.slot_user = "walpost:orders:db1:7";
       }},
      {"hidden_records", "hidden", kInformation, RelayState::kDegraded,
       "consumers that read committed records have got nothing", "",
       [](RelaySigns& signs) { signs.hidden_records = "topic t"; }},
      {"parking", "parking", kInformation, RelayState::kDegraded,
       "1 keys are parked", "",
       [](RelaySigns& signs) { signs.parking.keys = 1; }},
      {"parking_unread", "parking_table", kInformation, RelayState::kDegraded,
       "table public.parked of parked events has not answered for 9 s: is", "",
       [](RelaySigns& signs) {
         signs.parking.table = "public.parked";
         signs.parking.unanswered_for = seconds(9);
       }},
      {"unseen", "unseen", kInformation, RelayState::kDegraded,
       "cannot read the WAL status of slot orders", "",
       [](RelaySigns& signs) { signs.unseen_for = seconds(9); }},
  };
  return rows;
}

// Without a stream these are not looked at: nothing is owed.
bool NeedsStream(const Row& row) {
  return row.group == "commit" || row.group == "unacknowledged" ||
         row.group == "stream";
}
// Of a standby neither; and the WAL that is kept is a note without a stream.
bool IsSilencedBy(const Row& row, const Row& other) {
  const bool has_no_stream = other.group == "trouble";
  const bool is_standby = other.name == "standby" ||
                          other.name == "foreign_user" ||
                          other.name == "frozen_user";
  if (has_no_stream && NeedsStream(row)) return true;
  if (is_standby && row.group == "checkpoint") return true;
  if (is_standby && row.name == "paused") return true;
  const bool streams_not = has_no_stream || other.group == "stream";
  return row.name == "wal_budget" && streams_not;
}

void ExpectShown(const Diagnosis& diagnosis, const Row& row) {
  EXPECT_EQ(ToString(diagnosis.state), ToString(row.state)) << diagnosis.reason;
  EXPECT_THAT(diagnosis.reason, StartsWith(row.reason));
  EXPECT_EQ(diagnosis.code, row.code);
}

TEST(ConditionTest, EachSignIsShownAndOverWithItsCause) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.name);
    RelaySigns signs = Healthy();
    row.set(signs);
    const std::vector<Condition> found = ConditionsOf(signs);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.front().permanence, row.permanence);
    ExpectShown(Diagnose(signs), row);
  }
  EXPECT_EQ(ToString(Diagnose(Healthy()).state), "streaming");
}

// The matrix: each pair, in both orders of arrival.
TEST(ConditionTest, P10OfTwoTheWorseIsShownWhicheverCameFirst) {
  const std::vector<Row>& rows = Rows();
  int pairs = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = i + 1; j < rows.size(); ++j) {
      if (rows[i].group == rows[j].group) continue;
      if (IsSilencedBy(rows[i], rows[j])) continue;
      SCOPED_TRACE(rows[i].name + " and " + rows[j].name);
      RelaySigns signs = Healthy();
      rows[i].set(signs);
      rows[j].set(signs);
      RelaySigns reversed = Healthy();
      rows[j].set(reversed);
      rows[i].set(reversed);
      ExpectShown(Diagnose(signs), rows[i]);
      EXPECT_EQ(Diagnose(signs).reason, Diagnose(reversed).reason);
      ++pairs;
    }
  }
  EXPECT_GT(pairs, 250);
  RecordProperty("pairs", pairs);
}

TEST(ConditionTest, P10WhatWaitsForAnOperatorComesBeforeEveryOutage) {
  const std::vector<Row>& rows = Rows();
  for (const Row& one : rows) {
    for (const Row& other : rows) {
      if (one.group == other.group) continue;
      SCOPED_TRACE(one.name + " and " + other.name);
      RelaySigns signs = Healthy();
      one.set(signs);
      other.set(signs);
      const std::vector<Condition> found = ConditionsOf(signs);
      EXPECT_TRUE(std::ranges::is_sorted(found, {}, &Condition::permanence));
    }
  }
}

TEST(ConditionTest, OthersAreNamedBehindTheWorst) {
  RelaySigns signs = Healthy();
  signs.gap = Gap{kGapSlotLost, "slot orders is lost"};
  signs.brokers_unreachable_for = seconds(9);
  EXPECT_EQ(Diagnose(signs).reason,
            "[slot_lost] slot orders is lost; also: no Kafka broker is "
            "reachable at kafka:9092");
  // Of the same part: the outage explains it.
  signs.held = absl::UnavailableError("topic x does not exist");
  EXPECT_THAT(Diagnose(signs).reason, Not(HasSubstr("topic x")));
  // Two at most.
  signs.stoppage =
      BlockedEvent{{Lsn(0x10), 3}, "", absl::InvalidArgumentError("no topic")};
  signs.wal_budget_level = WalBudget::Level::kAtRisk;
  EXPECT_EQ(Diagnose(signs).reason,
            "[slot_lost] slot orders is lost; also: the event at 0/10/3 cannot "
            "be delivered; no Kafka broker is reachable at kafka:9092");
}

TEST(ConditionTest, AGapIsNotNamedBehindItself) {
  RelaySigns signs = Healthy();
  signs.gap = Gap{kGapSlotLost, "slot orders is lost"};
  SetTrouble(signs, StatusOfGap(*signs.gap));
  EXPECT_EQ(Diagnose(signs).reason, "[slot_lost] slot orders is lost");
}

TEST(ConditionTest, TheWalBudgetIsShownOverAPause) {
  RelaySigns signs = Healthy();
  signs.pause = PauseRecord{true, "alice", WallTime(), ""};
  EXPECT_THAT(Diagnose(signs).reason,
              HasSubstr("To go on: walpost resume -c FILE"));
  signs.wal_budget_level = WalBudget::Level::kAtRisk;
  signs.retained_wal_bytes = uint64_t{900} << 20;
  signs.wal_budget_bytes = uint64_t{1000} << 20;
  const Diagnosis diagnosis = Diagnose(signs);
  EXPECT_EQ(diagnosis.state, RelayState::kAtRisk);
  EXPECT_THAT(diagnosis.reason, StartsWith("paused by alice"));
  EXPECT_THAT(diagnosis.reason, HasSubstr("900 MiB of 1000 MiB"));
  EXPECT_THAT(diagnosis.reason, HasSubstr("or raise max_slot_wal_keep_size"));
  EXPECT_THAT(diagnosis.reason, Not(HasSubstr("also:")));
}

TEST(ConditionTest, PausedTablesAreNamedAndKeepNoWal) {
  RelaySigns signs = Healthy();
  signs.slot.clear();
  signs.pause = PauseRecord{true, "alice", WallTime(), "upgrade"};
  signs.paused_tables = "public.outbox ";
  EXPECT_EQ(Diagnose(signs).reason,
            "public.outbox by alice since 1970-01-01T00:00:00Z: "
            "upgrade. To go on: walpost resume -c FILE");
}

TEST(ConditionTest, WalThatIsKeptIsNamedBehindAnOutage) {
  RelaySigns signs = Healthy();
  signs.wal_budget_level = WalBudget::Level::kAtRisk;
  signs.brokers_unreachable_for = seconds(9);
  EXPECT_THAT(Diagnose(signs).reason,
              HasSubstr("; also: Postgres keeps 0 MiB of WAL"));
  // It is no state of its own without a stream.
  signs = Healthy();
  signs.wal_budget_level = WalBudget::Level::kAtRisk;
  signs.is_streaming = false;
  EXPECT_EQ(Diagnose(signs).state, RelayState::kStarting);
  signs.trouble = absl::UnavailableError("in use");
  signs.slot_is_in_use = true;
  EXPECT_EQ(Diagnose(signs).state, RelayState::kStandby);
}

// Another instance delivers what this one did not see acknowledged.
TEST(ConditionTest, AStandbyOwesNothing) {
  RelaySigns signs = Healthy();
  signs.trouble = absl::UnavailableError("in use");
  signs.slot_is_in_use = true;
  signs.is_streaming = false;
  signs.unacknowledged_for = seconds(99);
  signs.committing_for = seconds(99);
  signs.checkpoint_failing_for = seconds(99);
  signs.checkpoint_trouble = absl::UnavailableError("a lock");
  EXPECT_EQ(Diagnose(signs).state, RelayState::kStandby);
  // But it could not take over.
  signs.brokers_unreachable_for = seconds(9);
  EXPECT_EQ(Diagnose(signs).state, RelayState::kStuck);
}

TEST(ConditionTest, ALongReasonIsCutWhereItIsNamedOnly) {
  RelaySigns signs = Healthy();
  const std::string tail = " and so on, until nobody reads it any more";
  signs.publication_trouble = "rows are not sent";
  while (signs.publication_trouble.size() < 300) {
    signs.publication_trouble += tail;
  }
  EXPECT_EQ(Diagnose(signs).reason, signs.publication_trouble);
  signs.gap = Gap{kGapSlotLost, "lost"};
  EXPECT_LT(Diagnose(signs).reason.size(), 200u);
  EXPECT_THAT(Diagnose(signs).reason, HasSubstr(" until ..."));
}

}  // namespace
}  // namespace walpost
