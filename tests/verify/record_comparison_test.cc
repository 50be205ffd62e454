#include "verify/record_comparison.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost {
namespace {

using Kind = RecordComparison::Kind;

ComparedRecord Of(const std::string& id) {
  ComparedRecord record;
  record.topic = "orders";
  record.partition = 1;
  record.key = "k";
  record.value = "v";
  record.headers = {{"run", "a"}, {"id", id}, {"type", "T"}};
  record.timestamp = 5;
  return record;
}

class RecordComparisonTest : public ::testing::Test {
 protected:
  void Both(const ComparedRecord& expected, const ComparedRecord& found) {
    comparison_.Expect(expected);
    comparison_.Find(found);
  }
  uint64_t CountOf(Kind kind) const { return comparison_.of(kind).count; }

  RecordComparison comparison_{{"run"}};
};

TEST_F(RecordComparisonTest, EqualRecordsInEitherOrder) {
  Both(Of("1"), Of("1"));
  comparison_.Find(Of("2"));
  EXPECT_EQ(comparison_.pending(), 0);
  comparison_.Expect(Of("2"));
  comparison_.Finish();
  EXPECT_EQ(comparison_.compared(), 2);
  EXPECT_EQ(comparison_.equal(), 2);
  EXPECT_FALSE(comparison_.has_differences());
}

TEST_F(RecordComparisonTest, WhatIsNotKnownIsNotCompared) {
  ComparedRecord expected = Of("1");
  expected.partition.reset();
  expected.timestamp.reset();
  expected.headers[0].second = "b";  // of this run
  Both(expected, Of("1"));
  EXPECT_EQ(comparison_.equal(), 1);
}

TEST_F(RecordComparisonTest, EachPartHasItsKind) {
  const std::pair<Kind, void (*)(ComparedRecord&)> cases[] = {
      {Kind::kTopic, [](ComparedRecord& r) { r.topic = "other"; }},
      {Kind::kPartition, [](ComparedRecord& r) { r.partition = 2; }},
      {Kind::kKey, [](ComparedRecord& r) { r.key = "\"k\""; }},
      {Kind::kKey, [](ComparedRecord& r) { r.key.reset(); }},
      {Kind::kValue, [](ComparedRecord& r) { r.value = ""; }},
      {Kind::kValue, [](ComparedRecord& r) { r.value.reset(); }},
      {Kind::kHeaders, [](ComparedRecord& r) { r.headers.pop_back(); }},
      {Kind::kHeaders,
       [](ComparedRecord& r) { std::swap(r.headers[0], r.headers[2]); }},
      {Kind::kHeaders, [](ComparedRecord& r) { r.headers[2].second = "U"; }},
      {Kind::kHeaders, [](ComparedRecord& r) { r.headers[2].second.reset(); }},
      {Kind::kTimestamp, [](ComparedRecord& r) { r.timestamp = 6; }},
  };
  int number = 0;
  for (const auto& [kind, change] : cases) {
    ComparedRecord found = Of(std::to_string(++number));
    change(found);
    const uint64_t before = CountOf(kind);
    Both(Of(std::to_string(number)), found);
    EXPECT_EQ(CountOf(kind), before + 1) << number;
  }
  EXPECT_EQ(comparison_.equal(), 0);
  EXPECT_EQ(comparison_.compared(), std::size(cases));
}

TEST_F(RecordComparisonTest, AnExampleShowsBothSides) {
  ComparedRecord found = Of("1");
  found.key = "\"k\"";
  Both(Of("1"), found);
  ASSERT_EQ(comparison_.of(Kind::kKey).examples.size(), 1);
  EXPECT_EQ(comparison_.of(Kind::kKey).examples[0],
            "id 1: walpost 'k' (1 bytes), Kafka '\"k\"' (3 bytes)");
}

TEST_F(RecordComparisonTest, TheOrderOfAKey) {
  comparison_.Expect(Of("1"));
  comparison_.Expect(Of("2"));
  comparison_.Find(Of("2"));
  comparison_.Find(Of("1"));
  EXPECT_EQ(CountOf(Kind::kOrder), 1);
  comparison_.Expect(Of("3"));
  ComparedRecord other = Of("4");
  other.key = "other";
  comparison_.Expect(other);
  comparison_.Find(other);
  comparison_.Find(Of("3"));
  EXPECT_EQ(CountOf(Kind::kOrder), 1);
}

TEST_F(RecordComparisonTest, OneSideAlone) {
  comparison_.Find(Of("before"));
  Both(Of("1"), Of("1"));
  comparison_.Find(Of("extra"));
  comparison_.Expect(Of("missing"));
  comparison_.Finish();
  EXPECT_EQ(comparison_.earlier(), 1);
  EXPECT_EQ(CountOf(Kind::kExtra), 1);
  EXPECT_EQ(CountOf(Kind::kMissing), 1);
  EXPECT_TRUE(comparison_.has_differences());
}

// The event of a record comes after it.
TEST_F(RecordComparisonTest, ARecordThatCameFirstIsNotEarlier) {
  comparison_.Find(Of("1"));
  comparison_.Find(Of("extra"));
  comparison_.Expect(Of("1"));
  comparison_.Finish();
  EXPECT_EQ(comparison_.earlier(), 0);
  EXPECT_EQ(CountOf(Kind::kExtra), 1);
}

// Its event was committed after the last one that was read.
TEST_F(RecordComparisonTest, ARecordOfTheEndIsNotExtra) {
  Both(Of("1"), Of("1"));
  comparison_.Find(Of("extra"));
  comparison_.EndExtra();
  comparison_.Find(Of("2"));
  comparison_.Find(Of("later"));
  comparison_.Expect(Of("2"));
  comparison_.Expect(Of("missing"));
  comparison_.Finish();
  EXPECT_EQ(CountOf(Kind::kExtra), 1);
  EXPECT_EQ(CountOf(Kind::kMissing), 1);
  EXPECT_EQ(comparison_.equal(), 2);
}

TEST_F(RecordComparisonTest, RepeatedRecordsAndEventsWithoutAnId) {
  Both(Of("1"), Of("1"));
  comparison_.Find(Of("1"));
  ComparedRecord nameless = Of("2");
  nameless.headers.erase(nameless.headers.begin() + 1);
  comparison_.Expect(nameless);
  comparison_.Find(nameless);
  comparison_.Finish();
  EXPECT_EQ(comparison_.without_id(), 1);
  EXPECT_EQ(comparison_.repeated(), 1);
  EXPECT_FALSE(comparison_.has_differences());
}

// A row that was deleted and inserted again, or whose key has another part.
TEST_F(RecordComparisonTest, AnIdMayHaveSeveralEvents) {
  ComparedRecord second = Of("1");
  second.value = "other";
  comparison_.Expect(Of("1"));
  comparison_.Expect(second);
  EXPECT_EQ(comparison_.pending(), 2);
  comparison_.Find(Of("1"));
  comparison_.Find(second);
  EXPECT_EQ(comparison_.pending(), 0);
  ComparedRecord third = Of("2");
  third.value = "third";
  comparison_.Find(Of("2"));
  comparison_.Find(third);
  comparison_.Expect(Of("2"));
  comparison_.Expect(third);
  comparison_.Finish();
  EXPECT_EQ(comparison_.equal(), 4);
  EXPECT_FALSE(comparison_.has_differences());
  EXPECT_EQ(comparison_.repeated(), 0);
}

TEST_F(RecordComparisonTest, AMissingOneOfTwoIsMissing) {
  ComparedRecord second = Of("1");
  second.value = "other";
  comparison_.Expect(Of("1"));
  comparison_.Expect(second);
  comparison_.Find(second);
  comparison_.Finish();
  EXPECT_EQ(CountOf(Kind::kMissing), 1);
}

TEST_F(RecordComparisonTest, ARecordThatComesAgainWithOtherContentIsExtra) {
  ComparedRecord other = Of("1");
  other.value = "OTHER";
  Both(Of("1"), Of("1"));
  comparison_.Find(other);
  comparison_.Finish();
  EXPECT_EQ(CountOf(Kind::kExtra), 1);
  EXPECT_EQ(comparison_.repeated(), 0);
}

}  // namespace
}  // namespace walpost
