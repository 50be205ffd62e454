#include "checkpoint/birth_record.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

BirthRecord Record(std::string slot, Lsn born, std::string system) {
  BirthRecord record;
  record.slot = std::move(slot);
  record.consistent_point = born;
  record.system_identifier = std::move(system);
  return record;
}

const BirthRecord kOrders =
    Record("orders", Lsn(0x1A2B3C8), "7710532146069433627");
const BirthRecord kAudit = Record("audit", Lsn(0x10), "7");

TEST(BirthRecordTest, IsFoundAgain) {
  const std::string comment = WithBirthRecord("", kOrders);
  EXPECT_EQ(comment,
            "walpost: slot orders born at 0/1A2B3C8 of system "
            "7710532146069433627");
  EXPECT_EQ(FindBirthRecord(comment, "orders"), kOrders);
}

TEST(BirthRecordTest, LeavesTheRestOfTheCommentAlone) {
  std::string comment = WithBirthRecord("Ours.\nDo not drop.", kOrders);
  comment = WithBirthRecord(comment, kAudit);
  EXPECT_TRUE(comment.starts_with("Ours.\nDo not drop.\nwalpost: "));
  EXPECT_EQ(FindBirthRecord(comment, "orders"), kOrders);
  EXPECT_EQ(FindBirthRecord(comment, "audit"), kAudit);
}

TEST(BirthRecordTest, ReplacesThatOfTheSameSlot) {
  const BirthRecord younger = Record("orders", Lsn(0x2000000), "8");
  const std::string comment =
      WithBirthRecord(WithBirthRecord("", kOrders), younger);
  EXPECT_EQ(FindBirthRecord(comment, "orders"), younger);
  EXPECT_EQ(comment.find('\n'), std::string::npos);
}

TEST(BirthRecordTest, KeepsAllThatIsOnRecord) {
  BirthRecord full = kOrders;
  full.timeline = 3;
  full.streamed_from = 0x1'0000'0007;
  full.born_at = WallTime(std::chrono::seconds(1'764'000'000));
  full.coverage = "16390:742,public.outbox=16385";
  full.kafka_cluster = "MkU3OEVBNTcwNTJENDM2Qg";
  full.parked_table = {"app.parked events", 16421};
  full.gap = "slot_missing";
  full.added = {{"public.more", "16400.r16410:900", 912, Lsn(0x1A2B400),
                 WallTime(std::chrono::seconds(1'764'000'001))},
                {"Audit log.a@b,c", "16401.a.t16403:750", 913, Lsn(7)}};
  const std::string comment = WithBirthRecord("", full);
  EXPECT_NE(comment.find(" at=2025-11-24T16:00:00Z "), std::string::npos)
      << comment;
  EXPECT_EQ(FindBirthRecord(comment, "orders"), full);
}

TEST(BirthRecordTest, ATableThatWasAddedCountsOnceItIsTakenUp) {
  BirthRecord record = kOrders;
  record.coverage = "16390:742,public.outbox=16385";
  EXPECT_EQ(CoverageOf(record, Announced::kYes), record.coverage);
  record.added = {{"public.more", "16400", 912, Lsn(7), WallTime()},
                  {"public.late", "16402", 915, Lsn(8)}};
  EXPECT_EQ(CoverageOf(record, Announced::kNo),
            record.coverage + ",public.more=16400");
  EXPECT_EQ(CoverageOf(record, Announced::kYes),
            record.coverage + ",public.more=16400,public.late=16402");
  EXPECT_NE(FindAdded(record, "public.late"), nullptr);
  EXPECT_EQ(FindAdded(record, "public.outbox"), nullptr);
}

TEST(BirthRecordTest, P11AProofReachesBackForEachTableAsItDid) {
  BirthRecord before = kOrders;
  before.streamed_from = 700;
  before.coverage = "16390:742,public.outbox=16385";
  before.added = {
      {"public.more", "16400", 912, Lsn(7), WallTime(std::chrono::seconds(90))},
      {"public.late", "16402", 915, Lsn(8)}};
  BirthRecord now = kOrders;
  now.streamed_from = 2'000;
  now.born_at = WallTime(std::chrono::seconds(500));
  now.coverage =
      "16390:742,public.outbox=16385,public.more=16400,public.late=16402,"
      "public.new=16404";
  ContinueProof(now, before);
  EXPECT_EQ(now.streamed_from, 700u);
  EXPECT_EQ(now.coverage, before.coverage);
  EXPECT_EQ(FindAdded(now, "public.more")->from_transaction, 912u);
  for (const char* name : {"public.late", "public.new"}) {
    ASSERT_NE(FindAdded(now, name), nullptr) << name;
    EXPECT_EQ(FindAdded(now, name)->from_transaction, 2'000u) << name;
    EXPECT_TRUE(FindAdded(now, name)->is_taken_up()) << name;
  }
}

TEST(BirthRecordTest, NoAddedTableIsNotAnOlderRelease) {
  BirthRecord record = kOrders;
  EXPECT_FALSE(FindBirthRecord(WithBirthRecord("", record), "orders")->added);
  record.added.emplace();
  const std::string comment = WithBirthRecord("", record);
  EXPECT_TRUE(comment.ends_with(" added=-")) << comment;
  EXPECT_EQ(FindBirthRecord(comment, "orders"), record);
}

// The slot may be made again, with a new record.
TEST(BirthRecordTest, ANewRecordKeepsTheTableOfParkedEvents) {
  BirthRecord with_table = kOrders;
  with_table.parked_table = {"public.walpost_parked", 7};
  const std::string comment = WithBirthRecord("", with_table);
  EXPECT_EQ(WithBirthRecord(comment, kOrders), comment);
  BirthRecord other = kOrders;
  other.parked_table = {"public.other", 8};
  EXPECT_EQ(FindBirthRecord(WithBirthRecord(comment, other), "orders"), other);
}

TEST(BirthRecordTest, TheTableOfParkedEventsIsSetAndForgotten) {
  const std::string comment = WithBirthRecord("Ours.", kOrders);
  EXPECT_EQ(WithParkedTable(comment, "audit", {"public.x", 1}), std::nullopt);
  const auto used = WithParkedTable(comment, "orders", {"public.x", 1});
  ASSERT_TRUE(used);
  EXPECT_EQ(FindBirthRecord(*used, "orders")->parked_table,
            (ParkedTable{"public.x", 1}));
  EXPECT_EQ(WithParkedTable(*used, "orders", {}), comment);
}

// Without an oid it cannot be told from another table of its name.
TEST(BirthRecordTest, ATableWithoutAnOidIsNotOnRecord) {
  for (const char* word : {"parked=public.x", "parked=public.x:",
                           "parked=public.x:y", "parked="}) {
    const std::string comment =
        "walpost: slot orders born at 0/1A2B3C8 of system 7 " +
        std::string(word);
    EXPECT_EQ(FindBirthRecord(comment, "orders")->parked_table, ParkedTable())
        << word;
  }
}

TEST(BirthRecordTest, EachTopicOfDeadLettersStaysOnRecord) {
  const std::string comment = WithBirthRecord("Ours.", kOrders);
  EXPECT_EQ(WithLetterTopic(comment, "audit", "dead"), std::nullopt);
  const auto one = WithLetterTopic(comment, "orders", "dead");
  ASSERT_TRUE(one);
  const auto two = WithLetterTopic(*one, "orders", "a, {class}=1");
  ASSERT_TRUE(two);
  EXPECT_EQ(FindBirthRecord(*two, "orders")->letter_topics,
            (std::vector<std::string>{"dead", "a, {class}=1"}));
  EXPECT_EQ(WithLetterTopic(*two, "orders", "dead"), std::nullopt);
  // The slot may be made again.
  EXPECT_EQ(WithBirthRecord(*two, kOrders), *two);
}

TEST(BirthRecordTest, RoundsTheTimeOfBirthUp) {
  BirthRecord record = kOrders;
  record.streamed_from = 7;
  record.born_at = WallTime(std::chrono::microseconds(1'000'001));
  const auto found = FindBirthRecord(WithBirthRecord("", record), "orders");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->born_at, WallTime(std::chrono::seconds(2)));
}

TEST(BirthRecordTest, WhatCannotBeReadProvesNothing) {
  for (const char* words : {"from=x at=2025-11-24T16:00:00Z",
                            "from=7 at=yesterday", "at=2025-11-24T16:00:00Z"}) {
    const std::string comment =
        WithBirthRecord("", kOrders) + " " + words + " news=1";
    const auto found = FindBirthRecord(comment, "orders");
    ASSERT_TRUE(found) << comment;
    EXPECT_EQ(found->streamed_from, 0u) << comment;
  }
}

TEST(BirthRecordTest, AnAddedTableThatCannotBeReadIsNotThere) {
  for (const char* words : {"added=x", "added=a=1@0/1", "added=a=1@0/1@x",
                            "added=,,", "added=a@0/1@7"}) {
    const auto found =
        FindBirthRecord(WithBirthRecord("", kOrders) + " " + words, "orders");
    ASSERT_TRUE(found && found->added) << words;
    EXPECT_TRUE(found->added->empty()) << words;
  }
  const auto announced = FindBirthRecord(
      WithBirthRecord("", kOrders) + " added=a=1@0/1@7@yesterday", "orders");
  ASSERT_EQ(announced->added->size(), 1u);
  EXPECT_FALSE(announced->added->front().is_taken_up());
}

TEST(BirthRecordTest, AnythingElseIsNone) {
  for (const char* comment :
       {"", "walpost", "walpost: slot orders", "slot orders born at 0/1",
        "walpost: slot orders born at x/y of system 7",
        "walpost: slot others born at 0/1 of system 7"}) {
    EXPECT_EQ(FindBirthRecord(comment, "orders"), std::nullopt) << comment;
  }
}

}  // namespace
}  // namespace walpost
