#include "postgres/parking/parking_sql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ParkingSql Sql(bool ascii_only = false) {
  return {{"app.parked", "shop", "7", 17, ascii_only},
          [](std::string_view text) { return "'" + std::string(text) + "'"; }};
}

ParkedEvent SomeEvent() {
  ParkedEvent event;
  event.position = {Lsn(0x1F), 2};
  event.digest = "i2";
  event.content.aggregate_id = "k";
  event.content.reason = "caf\xc3\xa9";
  return event;
}

TEST(ParkingSqlTest, InsertKeepsWhatIsThere) {
  const ParkedEvent event = SomeEvent();
  const ParkedEvent* events[] = {&event, &event};
  const std::string sql = Sql().Insert(events);
  EXPECT_THAT(sql, HasSubstr("INSERT INTO \"app\".\"parked\""));
  EXPECT_THAT(sql, HasSubstr("'000000000000001F-0000000000000002', 17, 'i2', "
                             "'dead', NULL, '\\x6b', $1, "));
  EXPECT_THAT(sql, HasSubstr("'\\x6b', $2, "));
  EXPECT_THAT(sql, HasSubstr("caf\xc3\xa9"));
  EXPECT_TRUE(sql.ends_with(" ON CONFLICT DO NOTHING"));
}

TEST(ParkingSqlTest, ALetterHasColumnsForQueries) {
  ParkedEvent letter = SomeEvent();
  letter.state = ParkedState::kLetter;
  letter.content.id = "i";
  letter.content.headers = "h";
  letter.content.topic = "t";
  const ParkedEvent parked = SomeEvent();
  const ParkedEvent* both[] = {&parked, &letter};
  const std::string sql = Sql().Insert(both);
  EXPECT_THAT(sql, HasSubstr("topic, id, type, headers) VALUES"));
  EXPECT_THAT(sql, HasSubstr("'t', '\\x69', NULL, '\\x68')"));
  EXPECT_THAT(sql, HasSubstr("NULL, NULL, NULL, NULL)"));
  EXPECT_THAT(sql, HasSubstr("'dead_letter'"));
}

// Of another numbering, what is from where the stream goes on may be in the
// WAL again, under other ordinals: from the first event there.
TEST(ParkingSqlTest, P3WhatWasCountedOtherwiseIsReadFromItsTransactionOn) {
  for (const std::string& sql :
       {Sql().LoadLanes(Lsn(0x1F)), Sql().LoadTopics(Lsn(0x1F))}) {
    EXPECT_THAT(sql, HasSubstr(".numbering <> 17 AND "));
    EXPECT_THAT(sql, HasSubstr(".position >= "
                               "'000000000000001F-0000000000000000' THEN"));
  }
}

TEST(ParkingSqlTest, LettersAreNotListedAsParkedEvents) {
  using Settled = ParkingSql::Settled;
  EXPECT_THAT(Sql().List(Settled::kLeftOut),
              HasSubstr("state IN ('dead', 'waiting', 'retry')"));
  EXPECT_THAT(Sql().List(Settled::kIncluded),
              HasSubstr("'retry', 'released', 'discarded')"));
  EXPECT_THAT(Sql().ListLetters(Settled::kLeftOut),
              HasSubstr("state IN ('dead_letter', 'dead_letter_retry')"));
  EXPECT_THAT(Sql().ListLetters(Settled::kIncluded),
              HasSubstr("state LIKE 'dead_letter%'"));
}

TEST(ParkingSqlTest, OnlyOpenLettersAreDecidedAbout) {
  const std::vector<ParkedNumber> rows = {4};
  EXPECT_THAT(
      Sql().DecideLetters(rows, ParkedState::kLetterRetry, "alice", "why"),
      HasSubstr("state IN ('dead_letter') RETURNING"));
  EXPECT_THAT(
      Sql().DecideLetters(rows, ParkedState::kLetterDiscarded, "alice", "why"),
      HasSubstr("state IN ('dead_letter', 'dead_letter_retry') RETURNING"));
}

TEST(ParkingSqlTest, OnlyLettersThatAreToBeSentAreSettled) {
  const std::vector<ParkedNumber> rows = {4};
  EXPECT_THAT(Sql().ReadRetries(1, 1), HasSubstr("'dead_letter_retry'"));
  // Also what was discarded too late: it is in Kafka.
  EXPECT_TRUE(Sql().SettleRetries(rows).ends_with(
      "AND state IN ('dead_letter_retry', 'dead_letter_discarded')"));
  EXPECT_TRUE(Sql()
                  .FailRetry(rows[0], "c", "r")
                  .ends_with("AND state = 'dead_letter_retry'"));
}

TEST(ParkingSqlTest, WhatAStreamMayShowAgainIsInUse) {
  const std::string sql = Sql().IsInUse(Lsn(0x1F));
  EXPECT_THAT(sql, HasSubstr("'dead_letter_retry'))) OR EXISTS"));
  EXPECT_THAT(sql, HasSubstr("system_identifier = '7' AND position >= "
                             "'000000000000001F-0000000000000000')"));
}

TEST(ParkingSqlTest, AReasonFitsEveryDatabase) {
  const ParkedEvent event = SomeEvent();
  const ParkedEvent* events[] = {&event};
  EXPECT_THAT(Sql(/*ascii_only=*/true).Insert(events), HasSubstr("'caf\?\?'"));
}

TEST(ParkingSqlTest, RowsAreThoseOfTheSlot) {
  const std::vector<ParkedNumber> rows = {4, 9};
  EXPECT_THAT(Sql().Release(rows),
              HasSubstr("WHERE slot = 'shop' AND number IN (4, 9)"));
}

TEST(ParkingSqlTest, OrderIsThatOfAnIndexUnlessThereAreTwoClusters) {
  ParkingSql::Sendable wanted;
  const std::string one = Sql().ReadSendable(wanted);
  EXPECT_THAT(one, HasSubstr("system_identifier = '7' AND position"));
  EXPECT_THAT(one, HasSubstr("ORDER BY position, number LIMIT"));
  wanted.has_earlier_cluster = true;
  const std::string two = Sql().ReadSendable(wanted);
  EXPECT_THAT(two, HasSubstr("(system_identifier <> '7' OR position <= "));
  EXPECT_THAT(two, HasSubstr("ORDER BY (CASE system_identifier WHEN '7'"));
}

// P3: of a transaction whose events were counted otherwise, nothing is sent
// before the stream has passed all of it.
TEST(ParkingSqlTest, NothingIsSentBesideEarlierEventsOfTheStream) {
  ParkingSql::Sendable wanted;
  wanted.through = {Lsn(0x1F), 2};
  EXPECT_THAT(Sql().ReadSendable(wanted),
              HasSubstr("position <= '000000000000001F-0000000000000002' AND "
                        "(numbering = 17 OR position < '000000000000001F')"));
}

TEST(ParkingSqlTest, EqualEventsTakeTheirRowsInTurn) {
  const ParkedEvent event = SomeEvent();
  const ParkedEvent* events[] = {&event};
  const std::string sql = Sql().Renumber(events);
  EXPECT_THAT(sql, HasSubstr("VALUES ('000000000000001F-0000000000000002', "
                             "'i2')) AS v"));
  EXPECT_THAT(sql, HasSubstr("USING (commit, digest, nth)"));
  EXPECT_THAT(sql, HasSubstr("t.position = v.position AND t.numbering = 17)"));
  EXPECT_THAT(sql, HasSubstr("numbering <> 17 AND state IN ('dead', "));
}

TEST(ParkingSqlTest, LanesHaveATypeOnlyIfTypesNeverShareATopic) {
  ParkingSql::Sendable wanted;
  EXPECT_THAT(Sql().ReadSendable(wanted), Not(HasSubstr("aggregate_type")));
  wanted.scope = LaneScope::kTypeAndKey;
  EXPECT_THAT(Sql().ReadSendable(wanted), HasSubstr("aggregate_type"));
}

TEST(ParkingSqlTest, OnlyDeadEventsAreDecidedAbout) {
  const std::vector<ParkedNumber> rows = {4};
  EXPECT_THAT(Sql().Decide(rows, ParkedState::kRetry, "alice", "why"),
              HasSubstr("state IN ('dead') RETURNING"));
  EXPECT_THAT(Sql().Decide(rows, ParkedState::kDiscarded, "alice", "why"),
              HasSubstr("state IN ('dead', 'retry') RETURNING"));
}

TEST(ParkingSqlTest, TheTableHasTheConfiguredName) {
  EXPECT_THAT(ParkingSql::Create("app.parked"),
              HasSubstr("create table if not exists \"app\".\"parked\" ("));
  EXPECT_THAT(ParkingSql::Create("app.parked"),
              HasSubstr("$name$\"app\".\"parked\"$name$"));
  EXPECT_THAT(ParkingSql::Create("app.parked"), Not(HasSubstr("--")));
  EXPECT_THAT(ParkingSql::Grant("app.parked", "relay"),
              HasSubstr("DELETE ON \"app\".\"parked\" TO \"relay\""));
}

TEST(ParkingSqlTest, RowsOfATopicAndOfKeysDoNotOvertakeEachOther) {
  ParkingSql::Sendable wanted;
  const std::string of_keys = Sql().ReadSendable(wanted);
  EXPECT_THAT(of_keys, HasSubstr("AND topic IS NULL AND state"));
  EXPECT_THAT(of_keys, HasSubstr("(state = 'dead' OR state = 'waiting' AND "
                                 "topic IS NOT NULL)"));
  wanted.topic = "orders";
  const std::string of_topic = Sql().ReadSendable(wanted);
  EXPECT_THAT(of_topic, HasSubstr("AND topic = 'orders' AND state"));
  EXPECT_THAT(of_topic, HasSubstr("'retry') AND topic IS NULL GROUP BY"));
}

TEST(ParkingSqlTest, AnEventThatFailsWaitsForItsKey) {
  EXPECT_THAT(Sql().Fail(4, "topic_illegal", "why"),
              HasSubstr("state = 'dead', sending_since = NULL, topic = NULL"));
}

}  // namespace
}  // namespace walpost
