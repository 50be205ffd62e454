// Each column of the table of parked events gets into its field: every value of
// a row is another one.
#include "postgres/parking/parked_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "parking/parked_codec.h"
#include "support/fake_postgres.h"

namespace walpost {
namespace {

using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;

const std::optional<std::string> kNull;
constexpr Position kFirst{Lsn(0x10), 3};
constexpr Position kLast{Lsn(0x20), 4};
constexpr Position kNowhere;

std::string EventOf(const std::string& source) {
  DeadLetter content;
  content.source = source;
  return EncodeParked(content);
}

std::string Hex(const std::string& bytes) {
  std::string text = "\\x";
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

class ParkedRowsTest : public ::testing::Test {
 protected:
  QueryRows Rows(FakePostgres::Rows rows) {
    server_.Answer("SELECT them", std::move(rows));
    auto read = Await(context_, connection_->Execute("SELECT them"));
    EXPECT_TRUE(read.ok()) << read.status();
    return *std::move(read);
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
};

TEST_F(ParkedRowsTest, ReadsWhatIsToBeSent) {
  const std::string number("\0\0\0\0\0\0\2\1", 8);
  const QueryRows rows = Rows({{number, "77", "p", EventOf("s"), "body", "c"},
                               {number, "77", "q", EventOf("t"), kNull, "d"}});
  const auto parsed = ParseParkedRows(rows, true);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->size(), 2u);
  const ParkedRow& row = parsed->front();
  EXPECT_EQ(row.number, 0x201u);
  EXPECT_EQ(row.system_identifier, "77");
  EXPECT_EQ(row.position, "p");
  EXPECT_EQ(row.content.source, "s");
  EXPECT_EQ(row.content.payload, "body");
  EXPECT_EQ(row.content.error_class, "c");
  EXPECT_EQ(parsed->back().content.source, "t");
  EXPECT_EQ(parsed->back().content.payload, std::nullopt);
}

TEST_F(ParkedRowsTest, RowsToBeReleasedHaveNoClass) {
  const std::string number("\0\0\0\0\0\0\0\1", 8);
  const auto parsed =
      ParseParkedRows(Rows({{number, "77", "p", EventOf("s"), "body"}}), false);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->front().content.error_class, "");
}

TEST_F(ParkedRowsTest, AnEventThatCannotBeReadIsAnError) {
  const std::string number("\0\0\0\0\0\0\0\1", 8);
  const QueryRows rows = Rows({{number, "77", "p", "\xff\xff", "body"}});
  EXPECT_TRUE(absl::IsDataLoss(ParseParkedRows(rows, false).status()));
}

TEST_F(ParkedRowsTest, ReadsLanes) {
  const auto lanes = ParseParkedLanes(
      Rows({{"\\x61", "\\x62", "5", "4", "3"}, {kNull, kNull, "1", "0", "0"}}));
  ASSERT_TRUE(lanes.ok()) << lanes.status();
  ASSERT_EQ(lanes->size(), 2u);
  const ParkedLane& lane = lanes->front();
  EXPECT_EQ(lane.aggregate_type, "a");
  EXPECT_EQ(lane.key, "b");
  EXPECT_EQ(lane.events, 5u);
  EXPECT_EQ(lane.dead, 4u);
  EXPECT_EQ(lane.age, std::chrono::seconds(3));
  EXPECT_EQ(lanes->back().aggregate_type, std::nullopt);
  EXPECT_EQ(lanes->back().key, "");
}

TEST_F(ParkedRowsTest, ReadsTopics) {
  const auto topics =
      ParseIsolatedTopics(Rows({{"orders", "5", "4", "9", "3"}}));
  ASSERT_EQ(topics.size(), 1u);
  EXPECT_EQ(topics[0].name, "orders");
  EXPECT_EQ(topics[0].events, 5u);
  EXPECT_EQ(topics[0].free, 4u);
  EXPECT_EQ(topics[0].bytes, 9u);
  EXPECT_EQ(topics[0].age, std::chrono::seconds(3));
}

struct FirstCase {
  const char* name;
  const char* is_this_cluster;
  const char* is_this_numbering;
  bool has_event;
  Position position;
  const char* digest;
  const char* source;
};

class FirstOfLaneTest : public ParkedRowsTest,
                        public ::testing::WithParamInterface<FirstCase> {};

TEST_P(FirstOfLaneTest, P3TheFirstEventIsWhereTheStreamMeetsIt) {
  const FirstCase& row = GetParam();
  const FakePostgres::Row first = {
      row.is_this_cluster, row.is_this_numbering, SortableText(kFirst), "i1",
      row.has_event ? std::optional(Hex(EventOf("public.outbox"))) : kNull};
  FakePostgres::Row lane = {"\\x61", "\\x62"};
  lane.insert(lane.end(), first.begin(), first.end());
  const auto so_far = ParseParkedSoFar(Rows({lane}));
  ASSERT_TRUE(so_far.ok()) << so_far.status();
  ASSERT_EQ(so_far->lanes.size(), 1u);
  EXPECT_EQ(so_far->lanes[0].aggregate_type, "a");
  EXPECT_EQ(so_far->lanes[0].key, "b");
  EXPECT_EQ(so_far->lanes[0].first.position, row.position);
  EXPECT_EQ(so_far->lanes[0].first.digest, row.digest);
  EXPECT_EQ(so_far->lanes[0].first.source, row.source);

  FakePostgres::Row topic = {"orders"};
  topic.insert(topic.end(), first.begin(), first.end());
  topic.insert(topic.end(), {"t", "t", SortableText(kLast)});
  ParkedSoFar spans;
  ASSERT_TRUE(ParseIsolatedSpans(Rows({topic}), spans).ok());
  ASSERT_TRUE(spans.topics.contains("orders"));
  EXPECT_EQ(spans.topics["orders"].first.position, row.position);
  EXPECT_EQ(spans.topics["orders"].first.digest, row.digest);
  EXPECT_EQ(spans.topics["orders"].last, kLast);
}

INSTANTIATE_TEST_SUITE_P(
    All, FirstOfLaneTest,
    ::testing::Values(
        FirstCase{"counted_as_now", "t", "t", false, kFirst, "", ""},
        FirstCase{"of_an_earlier_cluster", "f", "t", false, kNowhere, "", ""},
        FirstCase{"counted_otherwise_and_passed", "t", "f", false,
                  Position{kFirst.commit_lsn, 0}, "", ""},
        FirstCase{"counted_otherwise_and_shown_again", "t", "f", true,
                  Position{kFirst.commit_lsn, 0}, "i1", "public.outbox"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(ParkedRowsTest, P3TheLastEventOfATopicCountsWithItsTransaction) {
  const auto last = [this](const char* is_cluster, const char* is_numbering) {
    ParkedSoFar so_far;
    const absl::Status parsed = ParseIsolatedSpans(
        Rows({{"orders", "t", "t", SortableText(kFirst), "i1", kNull,
               is_cluster, is_numbering, SortableText(kLast)}}),
        so_far);
    EXPECT_TRUE(parsed.ok()) << parsed;
    return so_far.topics["orders"].last;
  };
  EXPECT_EQ(last("t", "t"), kLast);
  EXPECT_EQ(last("t", "f"), (Position{kLast.commit_lsn, UINT64_MAX}));
  EXPECT_EQ(last("f", "t"), kNowhere);
}

TEST_F(ParkedRowsTest, ReadsSettledEvents) {
  ParkedSoFar so_far;
  const absl::Status parsed = ParseSettledEvents(
      Rows({{SortableText(kFirst), "released", "t", "i1", "7"},
            {SortableText(kLast), "dead_letter", "f", "i2", "8"}}),
      so_far);
  ASSERT_TRUE(parsed.ok()) << parsed;
  const auto* here = so_far.settled.Find(kFirst, "i1");
  ASSERT_NE(here, nullptr);
  EXPECT_EQ(here->digest, "i1");
  EXPECT_EQ(here->fact.state, ParkedState::kReleased);
  EXPECT_EQ(here->fact.number, 7u);
  EXPECT_EQ(so_far.settled.Find(kLast, "i3"), nullptr)
      << "its ordinal was counted otherwise";
  const auto* other = so_far.settled.Find({kLast.commit_lsn, 9}, "i2");
  ASSERT_NE(other, nullptr) << "its transaction and its digest are known";
  EXPECT_EQ(other->fact.state, ParkedState::kLetter);
  EXPECT_EQ(other->fact.number, 8u);
}

TEST_F(ParkedRowsTest, WhatWalpostNeverWritesIsAnError) {
  ParkedSoFar so_far;
  EXPECT_TRUE(absl::IsDataLoss(
      ParseSettledEvents(Rows({{"0/1", "released", "t", "i1", "7"}}), so_far)));
  EXPECT_TRUE(absl::IsDataLoss(ParseSettledEvents(
      Rows({{SortableText(kFirst), "gone", "t", "i1", "7"}}), so_far)));
  EXPECT_FALSE(ParseParkedLanes(Rows({{"a", "\\x62", "1", "1", "1"}})).ok());
  EXPECT_FALSE(
      ParseParkedSoFar(Rows({{"\\x61", "\\x62", "t", "t", "0/1", "i", kNull}}))
          .ok());
}

}  // namespace
}  // namespace walpost
