#include "checkpoint/event_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "checkpoint/birth_record.h"
#include "outbox/event_digest.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

EventDecision Decision(std::string slot = "orders") {
  EventDecision decision;
  decision.slot = std::move(slot);
  decision.position = {Lsn(0x154F6A8), 3};
  decision.system_identifier = "7710532146069433627";
  decision.timeline = 2;
  decision.numbering = 17;
  decision.digest = "i0123456789abcdef01234567";
  decision.by = "alice";
  decision.at = WallTime(std::chrono::seconds(1'764'000'000));
  decision.why = "paid by hand, why=not";
  return decision;
}

TEST(EventDecisionTest, IsFoundAgain) {
  const std::string comment = WithDecision("", Decision());
  EXPECT_EQ(comment,
            "walpost: slot orders skip 0/154F6A8/3 of system "
            "7710532146069433627 timeline=2 numbering=17 "
            "event=i0123456789abcdef01234567 by=alice "
            "at=2025-11-24T16:00:00Z why=paid by hand, why=not");
  EXPECT_THAT(FindDecisions(comment, "orders"), ElementsAre(Decision()));
  EXPECT_THAT(FindDecisions(comment, "order"), IsEmpty());
}

TEST(EventDecisionTest, StaysOnRecordBesideOthers) {
  EventDecision second = Decision();
  second.position.ordinal = 4;
  second.digest = "i4";
  BirthRecord birth;
  birth.slot = "orders";
  birth.consistent_point = Lsn(1);
  birth.system_identifier = "7";
  std::string comment = WithBirthRecord("Ours.", birth);
  comment = WithDecision(comment, Decision("audit"));
  comment = WithDecision(comment, Decision());
  comment = WithDecision(comment, second);
  EXPECT_THAT(FindDecisions(comment, "orders"),
              ElementsAre(Decision(), second));
  EXPECT_THAT(FindDecisions(comment, "audit"), ElementsAre(Decision("audit")));
  EXPECT_EQ(FindBirthRecord(comment, "orders"), birth);
  EXPECT_TRUE(comment.starts_with("Ours.\n"));
  comment = WithBirthRecord(comment, birth);
  EXPECT_THAT(FindDecisions(comment, "orders"),
              ElementsAre(Decision(), second));
}

TEST(EventDecisionTest, ReplacesThatAboutTheSameEvent) {
  EventDecision again = Decision();
  again.action = ErrorAction::kDeadLetter;
  again.was_obeyed = true;
  again.position.ordinal = 1;  // counted otherwise
  again.numbering = 18;
  EventDecision elsewhere = Decision();
  elsewhere.position.commit_lsn = Lsn(1);
  std::string comment = WithDecision("", elsewhere);
  comment = WithDecision(comment, Decision());
  comment = WithDecision(comment, again);
  EXPECT_THAT(FindDecisions(comment, "orders"), ElementsAre(elsewhere, again));
}

EventPlace PlaceOf(const EventDecision& decision) {
  return {decision.system_identifier, decision.timeline, decision.numbering,
          decision.position};
}

TEST(EventDecisionTest, IsAboutItsEventAlone) {
  const EventDecision decision = Decision();
  const EventPlace place = PlaceOf(decision);
  EXPECT_TRUE(IsAbout(decision, place, decision.digest));
  EXPECT_FALSE(IsAbout(decision, place, "i4"));
  EventPlace other = place;
  other.system_identifier = "8";
  EXPECT_FALSE(IsAbout(decision, other, decision.digest));
  other = place;
  other.timeline = 3;
  EXPECT_FALSE(IsAbout(decision, other, decision.digest));
  other = place;
  other.position.commit_lsn = Lsn(1);
  EXPECT_FALSE(IsAbout(decision, other, decision.digest));
  other = place;
  other.position.ordinal = 4;
  EXPECT_FALSE(IsAbout(decision, other, decision.digest));
}

// P1: outbox.tables has changed, and the same event has another ordinal.
TEST(EventDecisionTest, FollowsItsEventIntoAnotherNumbering) {
  const EventDecision decision = Decision();
  EventPlace place = PlaceOf(decision);
  place.numbering = 18;
  place.position.ordinal = 2;
  EXPECT_TRUE(IsAbout(decision, place, decision.digest));
  place.position.ordinal = 3;
  EXPECT_FALSE(IsAbout(decision, place, "i4"));
}

// A line of a release before 0.3.
TEST(EventDecisionTest, WithoutADigestItIsAboutNoEvent) {
  EventDecision decision = Decision();
  decision.digest.clear();
  decision.numbering = 0;
  EventPlace place = PlaceOf(Decision());
  EXPECT_FALSE(IsAbout(decision, place, Decision().digest));
}

TEST(EventDecisionTest, OnlyWhatWasObeyedIsSkippedWithoutAStop) {
  EventDecision obeyed = Decision();
  obeyed.was_obeyed = true;
  EventDecision pending = Decision();
  pending.digest = "i4";
  pending.position.ordinal = 4;
  EventDecision letter = obeyed;
  letter.action = ErrorAction::kDeadLetter;
  letter.position.ordinal = 5;
  EventDecision counted_otherwise = obeyed;
  counted_otherwise.numbering = 18;
  counted_otherwise.digest = "i6";
  Sender::Skips skips = SkipsOf({obeyed, pending, letter, counted_otherwise},
                                PlaceOf(Decision()));
  const Lsn lsn = obeyed.position.commit_lsn;
  const auto* found = skips.Find(obeyed.position, obeyed.digest);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->fact, "alice: paid by hand, why=not");
  EXPECT_EQ(skips.Find({lsn, 4}, "i4"), nullptr);
  EXPECT_EQ(skips.Find({lsn, 5}, obeyed.digest), nullptr);
  EXPECT_NE(skips.Find({lsn, 9}, "i6"), nullptr);
  EXPECT_EQ(skips.Find({lsn, 10}, "i6"), nullptr) << "it was claimed";
}

// For a replay of the WAL, and for readers of the table.
TEST(EventDecisionTest, ASkippedEventIsOnRecordForLaterReaders) {
  Event event;
  event.id = "7";
  EventDecision decision = Decision();
  decision.digest = EventDigest("public.outbox", event);
  event.position = decision.position;
  EventsOnRecord here({"public.outbox"});
  AddSkips({decision}, decision.system_identifier, here);
  EXPECT_EQ(here.FindInWal(event), Disposition::kSkipped);
  EventsOnRecord elsewhere({"public.outbox"});
  AddSkips({decision}, "another", elsewhere);
  EXPECT_EQ(elsewhere.FindInWal(event), std::nullopt) << "LSNs are others";
  EXPECT_EQ(elsewhere.Find(event), Disposition::kSkipped);
  decision.action = ErrorAction::kDeadLetter;
  EventsOnRecord none({"public.outbox"});
  AddSkips({decision}, decision.system_identifier, none);
  EXPECT_TRUE(none.empty());
}

TEST(EventDecisionTest, IsOneLine) {
  EventDecision decision = Decision();
  decision.by = "a b\nc";
  decision.why = "one\ntwo";
  const std::string comment = WithDecision("", decision);
  const auto found = FindDecisions(comment, "orders");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().by, "a_b_c");
  EXPECT_EQ(found.front().why, "one_two");
}

// Every prefix and every changed word: better no decision than another one.
TEST(EventDecisionTest, WhatIsNotUnderstoodDecidesNothing) {
  const std::string line = WithDecision("", Decision());
  const size_t why = line.find(" why=");
  for (size_t length = 0; length < why + 5; ++length) {
    EXPECT_THAT(FindDecisions(line.substr(0, length), "orders"), IsEmpty())
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
      {"numbering=17", "numbering=x"},
      {"2025-11-24", "yesterday"},
      {"by=alice", "alice"},
      {"walpost:", "Walpost:"}};
  for (const auto& [from, to] : rows) {
    std::string changed = line;
    changed.replace(changed.find(from), std::string(from).size(), to);
    EXPECT_THAT(FindDecisions(changed, "orders"), IsEmpty()) << changed;
  }
}

}  // namespace
}  // namespace walpost
