#include "checkpoint/event_decision.h"

#include <gtest/gtest.h>

#include <string>

#include "checkpoint/birth_record.h"

namespace walpost {
namespace {

EventDecision Decision(std::string slot = "orders") {
  EventDecision decision;
  decision.slot = std::move(slot);
  decision.position = {Lsn(0x154F6A8), 3};
  decision.system_identifier = "7710532146069433627";
  decision.timeline = 2;
  decision.by = "alice";
  decision.at = WallTime(std::chrono::seconds(1'764'000'000));
  decision.why = "paid by hand, why=not";
  return decision;
}

TEST(EventDecisionTest, IsFoundAgain) {
  const std::string comment = WithDecision("", Decision());
  EXPECT_EQ(comment,
            "walpost: slot orders skip 0/154F6A8/3 of system "
            "7710532146069433627 timeline=2 by=alice at=2025-11-24T16:00:00Z "
            "why=paid by hand, why=not");
  EXPECT_EQ(FindDecision(comment, "orders"), Decision());
  EXPECT_EQ(FindDecision(comment, "order"), std::nullopt);
}

TEST(EventDecisionTest, ReplacesThatOfTheSameSlotAndNothingElse) {
  EventDecision second = Decision();
  second.action = ErrorAction::kDeadLetter;
  second.position.ordinal = 4;
  BirthRecord birth;
  birth.slot = "orders";
  birth.consistent_point = Lsn(1);
  birth.system_identifier = "7";
  std::string comment = WithBirthRecord("Ours.", birth);
  comment = WithDecision(comment, Decision("audit"));
  comment = WithDecision(comment, Decision());
  comment = WithDecision(comment, second);
  EXPECT_EQ(FindDecision(comment, "orders"), second);
  EXPECT_EQ(FindDecision(comment, "audit"), Decision("audit"));
  EXPECT_EQ(FindBirthRecord(comment, "orders"), birth);
  EXPECT_TRUE(comment.starts_with("Ours.\n"));
  comment = WithBirthRecord(comment, birth);
  EXPECT_EQ(FindDecision(comment, "orders"), second);
}

TEST(EventDecisionTest, IsOneLine) {
  EventDecision decision = Decision();
  decision.by = "a b\nc";
  decision.why = "one\ntwo";
  const std::string comment = WithDecision("", decision);
  const auto found = FindDecision(comment, "orders");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->by, "a_b_c");
  EXPECT_EQ(found->why, "one_two");
}

// Every prefix and every changed word: better no decision than another one.
TEST(EventDecisionTest, WhatIsNotUnderstoodDecidesNothing) {
  const std::string line = WithDecision("", Decision());
  const size_t why = line.find(" why=");
  for (size_t length = 0; length < why + 5; ++length) {
    EXPECT_EQ(FindDecision(line.substr(0, length), "orders"), std::nullopt)
        << line.substr(0, length);
  }
  const std::pair<const char*, const char*> rows[] = {
      {" skip ", " stop "},
      {" skip ", " forget "},
      {"0/154F6A8/3", "0/154F6A8/0"},
      {"0/154F6A8/3", "0/154F6A8"},
      {" of ", " at "},
      {" system ", " cluster "},
      {"timeline=2", "timeline=0"},
      {"timeline=2", "timeline=x"},
      {"timeline=2 ", ""},
      {"2025-11-24", "yesterday"},
      {"by=alice", "alice"},
      {"walpost:", "Walpost:"}};
  for (const auto& [from, to] : rows) {
    std::string changed = line;
    changed.replace(changed.find(from), std::string(from).size(), to);
    EXPECT_EQ(FindDecision(changed, "orders"), std::nullopt) << changed;
  }
}

}  // namespace
}  // namespace walpost
