#include "postgres/parking_sql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ParkingSql Sql(bool ascii_only = false) {
  return {{"app.parked", "shop", "7", ascii_only},
          [](std::string_view text) { return "'" + std::string(text) + "'"; }};
}

ParkedEvent SomeEvent() {
  ParkedEvent event;
  event.position = {Lsn(0x1F), 2};
  event.content.aggregate_id = "k";
  event.content.reason = "caf\xc3\xa9";
  return event;
}

TEST(ParkingSqlTest, InsertKeepsWhatIsThere) {
  const ParkedEvent event = SomeEvent();
  const ParkedEvent* events[] = {&event, &event};
  const std::string sql = Sql().Insert(events);
  EXPECT_THAT(sql, HasSubstr("INSERT INTO \"app\".\"parked\""));
  EXPECT_THAT(sql, HasSubstr("'000000000000001F-0000000000000002', 'dead', "
                             "NULL, '\\x6b', $1, "));
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

// A table of an earlier release lacks those columns.
TEST(ParkingSqlTest, AParkedEventNeedsNoColumnsOfLetters) {
  const ParkedEvent parked = SomeEvent();
  const ParkedEvent* events[] = {&parked};
  EXPECT_THAT(Sql().Insert(events), HasSubstr("committed_at, topic) VALUES"));
}

TEST(ParkingSqlTest, LettersAreNotListedAsParkedEvents) {
  using Settled = ParkingSql::Settled;
  EXPECT_THAT(Sql().List(Settled::kLeftOut),
              HasSubstr("state IN ('dead', 'waiting', 'retry')"));
  EXPECT_THAT(Sql().List(Settled::kIncluded),
              HasSubstr("state NOT LIKE 'dead_letter%'"));
  EXPECT_THAT(Sql().ListLetters(Settled::kLeftOut),
              HasSubstr("state IN ('dead_letter', 'dead_letter_retry')"));
  EXPECT_THAT(Sql().ListLetters(Settled::kIncluded),
              HasSubstr("state LIKE 'dead_letter%'"));
}

TEST(ParkingSqlTest, OnlyOpenLettersAreDecidedAbout) {
  const std::vector<ParkedPlace> places = {{"7", "a"}};
  EXPECT_THAT(
      Sql().DecideLetters(places, ParkedState::kLetterRetry, "alice", "why"),
      HasSubstr("state = 'dead_letter' RETURNING"));
}

TEST(ParkingSqlTest, OnlyLettersThatAreToBeSentAreSettled) {
  const std::vector<ParkedPlace> places = {{"7", "a"}};
  EXPECT_THAT(Sql().ReadRetries(1, 1), HasSubstr("'dead_letter_retry'"));
  EXPECT_TRUE(
      Sql().SettleRetries(places).ends_with("AND state = 'dead_letter_retry'"));
  EXPECT_TRUE(Sql()
                  .FailRetry(places[0], "c", "r")
                  .ends_with("AND state = 'dead_letter_retry'"));
}

TEST(ParkingSqlTest, LettersThatAStreamMayShowAgainAreInUse) {
  const std::string sql = Sql().IsInUse(Lsn(0x1F));
  EXPECT_THAT(sql, HasSubstr("'dead_letter_retry')) OR EXISTS"));
  EXPECT_THAT(sql, HasSubstr("position >= '000000000000001F-"
                             "0000000000000000' AND state LIKE"));
}

TEST(ParkingSqlTest, AReasonFitsEveryDatabase) {
  const ParkedEvent event = SomeEvent();
  const ParkedEvent* events[] = {&event};
  EXPECT_THAT(Sql(/*ascii_only=*/true).Insert(events), HasSubstr("'caf\?\?'"));
}

TEST(ParkingSqlTest, PlacesAreGroupedByCluster) {
  const std::vector<ParkedPlace> places = {{"7", "a"}, {"6", "b"}, {"7", "c"}};
  EXPECT_THAT(Sql().Release(places),
              HasSubstr("slot = 'shop' AND (system_identifier = '6' AND "
                        "position IN ('b') OR system_identifier = '7' AND "
                        "position IN ('a', 'c'))"));
}

TEST(ParkingSqlTest, OrderIsThatOfThePrimaryKeyUnlessThereAreTwoClusters) {
  ParkingSql::Sendable wanted;
  wanted.through = {Lsn(0x1F), 2};
  const std::string one = Sql().ReadSendable(wanted);
  EXPECT_THAT(one, HasSubstr("system_identifier = '7' AND topic"));
  EXPECT_THAT(one,
              HasSubstr("position <= '000000000000001F-0000000000000002'"));
  wanted.has_earlier_cluster = true;
  const std::string two = Sql().ReadSendable(wanted);
  EXPECT_THAT(two, Not(HasSubstr("system_identifier = '7' AND topic")));
  EXPECT_THAT(two, HasSubstr("<= '1000000000000001F-0000000000000002'"));
}

TEST(ParkingSqlTest, LanesHaveATypeOnlyIfTypesNeverShareATopic) {
  ParkingSql::Sendable wanted;
  EXPECT_THAT(Sql().ReadSendable(wanted), Not(HasSubstr("aggregate_type")));
  wanted.scope = LaneScope::kTypeAndKey;
  EXPECT_THAT(Sql().ReadSendable(wanted), HasSubstr("aggregate_type"));
}

TEST(ParkingSqlTest, OnlyDeadEventsAreDecidedAbout) {
  const std::vector<ParkedPlace> places = {{"7", "a"}};
  EXPECT_THAT(Sql().Decide(places, ParkedState::kRetry, "alice", "why"),
              HasSubstr("state = 'dead' RETURNING"));
}

TEST(ParkingSqlTest, TheTableHasTheConfiguredName) {
  EXPECT_THAT(ParkingSql::Create("app.parked"),
              HasSubstr("create table if not exists \"app\".\"parked\" ("));
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
  EXPECT_THAT(Sql().Fail({"7", "a"}, "topic_illegal", "why"),
              HasSubstr("state = 'dead', topic = NULL"));
}

}  // namespace
}  // namespace walpost
