#include "dead_letters/dead_letter_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dead_letters/letter_filter.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using Action = DeadLetterResolution::Action;

constexpr char kPosition[] = "00000001-0000000000000100-0000000000000001";

// Records of one partition, one behind the other.
class DeadLetterIndexTest : public ::testing::Test {
 protected:
  void AddLetter(const std::string& id, const std::string& position = kPosition,
                 const std::string& source = "public.outbox") {
    const std::vector<RecordHeader> headers = {
        {"id", id},
        {"walpost-position", position},
        {"walpost-dead-letter", "topic_illegal"},
        {"walpost-dead-letter-source", source}};
    Record record;
    record.key = "k";
    record.value = "payload";
    record.headers = headers;
    ASSERT_TRUE(book_.Add(Place(partition_), record).ok());
  }
  void AddLetterWithoutId(const std::string& payload,
                          const std::string& position = kPosition) {
    const std::vector<RecordHeader> headers = {
        {"walpost-position", position},
        {"walpost-dead-letter", "topic_illegal"},
        {"walpost-dead-letter-source", "public.outbox"}};
    Record record;
    record.value = payload;
    record.headers = headers;
    ASSERT_TRUE(book_.Add(Place(), record).ok());
  }
  void AddDecision(Action action, int64_t offset) {
    DeadLetterResolution decision;
    decision.action = action;
    decision.offset = offset;
    decision.by = "alice";
    decision.why = "so";
    const DeadLetterResolutionRecord record(decision, "dead", "k", "id");
    ASSERT_TRUE(book_.Add(Place(), record.record()).ok());
  }
  LetterPlace Place(int32_t partition = 0) {
    return {"dead", partition, next_++};
  }

  const DeadLetterIndex::Entry& entry(size_t i) const {
    return book_.entries()[i];
  }

  DeadLetterIndex book_;
  int64_t next_ = 0;
  int32_t partition_ = 0;  // of letters
};

TEST_F(DeadLetterIndexTest, KeepsAllButThePayload) {
  AddLetter("1");
  ASSERT_EQ(book_.entries().size(), 1u);
  EXPECT_EQ(ToString(entry(0).place), "dead/0/0");
  EXPECT_EQ(entry(0).letter.id, "1");
  EXPECT_EQ(entry(0).letter.payload, std::nullopt);
  EXPECT_EQ(entry(0).payload_size, 7u);
  EXPECT_TRUE(entry(0).is_open());
}

// outbox.tables has changed, and the event was counted otherwise.
TEST_F(DeadLetterIndexTest, ACopyWithAnotherOrdinalIsTheSameEvent) {
  AddLetter("1");
  AddDecision(Action::kDiscarded, 0);
  AddLetter("1", "00000001-0000000000000100-0000000000000002");
  AddLetter("2");
  ASSERT_EQ(book_.entries().size(), 2u);
  EXPECT_FALSE(entry(0).is_open());
  EXPECT_EQ(entry(1).letter.id, "2");
}

// P1: it has no id, and stands where another one stood.
TEST_F(DeadLetterIndexTest, WithoutAnIdTheContentTellsEventsApart) {
  AddLetterWithoutId("one");
  AddLetterWithoutId("one");
  AddLetterWithoutId("two");
  AddLetterWithoutId("one", "00000001-0000000000000100-0000000000000002");
  ASSERT_EQ(book_.entries().size(), 3u);
  EXPECT_EQ(entry(0).copies, 2u);
}

TEST_F(DeadLetterIndexTest, CopiesOfAnEventAreOneEntryAtThePlaceOfTheNewest) {
  AddLetter("1");
  AddLetter("1");
  AddLetter("2");
  AddLetter("1", "00000001-0000000000000200-0000000000000001");
  AddLetter("1", kPosition, "public.other");
  ASSERT_EQ(book_.entries().size(), 4u);
  EXPECT_EQ(entry(0).copies, 2u);
  EXPECT_EQ(entry(0).place.offset, 1);
}

TEST_F(DeadLetterIndexTest, ADecisionSettlesEveryCopyOfAnEvent) {
  AddLetter("1");                    // 0
  AddLetter("1");                    // 1
  AddLetter("2");                    // 2
  AddDecision(Action::kRetried, 0);  // 3
  AddLetter("1");                    // 4
  ASSERT_EQ(book_.entries().size(), 2u);
  ASSERT_TRUE(entry(0).decision);
  EXPECT_EQ(entry(0).decision->action, Action::kRetried);
  EXPECT_EQ(entry(0).decision->by, "alice");
  EXPECT_EQ(entry(0).decision->why, "so");
  EXPECT_EQ(entry(0).copies, 3u);
  EXPECT_TRUE(entry(1).is_open());
}

// The topic has more partitions, or the server was promoted, since.
TEST_F(DeadLetterIndexTest, ADecisionSettlesCopiesElsewhere) {
  AddLetter("1");                      // 0
  AddDecision(Action::kDiscarded, 0);  // 1
  partition_ = 1;
  AddLetter("1");
  AddLetter("1", "00000002-0000000000000100-0000000000000001");
  AddLetter("1", "");
  ASSERT_EQ(book_.entries().size(), 2u);
  EXPECT_FALSE(entry(0).is_open());
  EXPECT_EQ(entry(0).copies, 3u);
  partition_ = 2;
  AddLetter("1", "");
  EXPECT_EQ(book_.entries().size(), 3u)
      << "no position: the row was read again";
}

TEST_F(DeadLetterIndexTest, ARowThatFailsAgainIsANewEntry) {
  AddLetter("1", "");                  // 0
  AddDecision(Action::kDiscarded, 0);  // 1
  AddLetter("1", "");                  // 2
  AddLetter("1", "");                  // 3
  AddDecision(Action::kDiscarded, 2);  // 4: who decided had not seen 3
  ASSERT_EQ(book_.entries().size(), 2u);
  EXPECT_FALSE(entry(0).is_open());
  EXPECT_TRUE(entry(1).is_open());
}

TEST_F(DeadLetterIndexTest, ADecisionAboutALetterThatIsGoneIsIgnored) {
  AddDecision(Action::kDiscarded, 17);
  EXPECT_TRUE(book_.entries().empty());
}

TEST_F(DeadLetterIndexTest, AnotherRecordIsIgnored) {
  Record record;
  EXPECT_TRUE(book_.Add(Place(), record).ok());
  EXPECT_TRUE(book_.entries().empty());
}

TEST_F(DeadLetterIndexTest, WhatCannotBeReadIsNamedByItsPlace) {
  const std::vector<RecordHeader> bad_letter = {
      {"walpost-dead-letter", "x"}, {"walpost-dead-letter-timestamp", "x"}};
  const std::vector<RecordHeader> bad_action = {
      {"walpost-decision", "buried"}, {"walpost-decision-offset", "1"}};
  const std::vector<RecordHeader> bad_offset = {
      {"walpost-decision", "retried"}, {"walpost-decision-offset", "-1"}};
  const std::vector<RecordHeader> no_offset = {{"walpost-decision", "retried"}};
  for (const auto* headers :
       {&bad_letter, &bad_action, &bad_offset, &no_offset}) {
    Record record;
    record.headers = *headers;
    const std::string place = ToString({"dead", 0, next_});
    const absl::Status status = book_.Add(Place(), record);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(place));
  }
}

TEST_F(DeadLetterIndexTest, EachCopyOfALetterIsFound) {
  AddLetter("1");
  AddLetter("1");
  EXPECT_EQ(book_.Find({"dead", 0, 0}), &entry(0));
  EXPECT_EQ(book_.Find({"dead", 0, 1}), &entry(0));
  EXPECT_EQ(book_.Find({"dead", 0, 2}), nullptr);
}

TEST_F(DeadLetterIndexTest, AFilterTakesWhatAgreesInEverything) {
  AddLetter("1");
  const auto matches = [this](const LetterFilter& filter) {
    return filter.Matches(entry(0));
  };
  EXPECT_TRUE(matches({}));
  EXPECT_TRUE(matches({.place = "0/0"}));
  EXPECT_TRUE(matches({.place = "dead/0/0", .id = "1", .key = "k"}));
  EXPECT_TRUE(matches({.error_class = "topic_illegal", .topic = ""}));
  EXPECT_TRUE(matches({.since = WallTime()}));
  for (const LetterFilter& other :
       {LetterFilter{.place = "0/1"}, LetterFilter{.place = "0"},
        LetterFilter{.id = "2"}, LetterFilter{.id = "1", .key = "K"},
        LetterFilter{.error_class = "x"}, LetterFilter{.topic = "t"},
        LetterFilter{.since = WallTime(std::chrono::microseconds(1))},
        LetterFilter{.before = WallTime()}}) {
    EXPECT_FALSE(matches(other));
    EXPECT_FALSE(other.is_empty());
  }
  EXPECT_TRUE(LetterFilter{}.is_empty());
}

}  // namespace
}  // namespace walpost
