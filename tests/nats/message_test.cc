#include "nats/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace walpost {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::Pair;

Record RecordOf(Value key, Value value) {
  Record record;
  record.topic = "outbox.order";
  record.key = key;
  record.value = value;
  record.timestamp = WallTime(std::chrono::milliseconds(17));
  return record;
}

TEST(MessageTest, PartsOfTheRecordAreHeaders) {
  const NatsMessage message =
      MessageOf(RecordOf("k", "v"), "ORDERS", "walpost-shop");
  EXPECT_EQ(message.subject, "outbox.order");
  EXPECT_EQ(message.payload, "v");
  EXPECT_THAT(message.headers,
              Contains(Pair("Nats-Expected-Stream", "ORDERS")));
  EXPECT_THAT(message.headers, Contains(Pair(kNatsKeyHeader, "k")));
  EXPECT_THAT(message.headers, Contains(Pair(kNatsTimestampHeader, "17")));
}

TEST(MessageTest, ATombstoneIsNotAnEmptyPayload) {
  EXPECT_THAT(
      MessageOf(RecordOf("k", std::nullopt), "S", "walpost-shop").headers,
      Contains(Pair(kNatsTombstoneHeader, "true")));
  EXPECT_THAT(MessageOf(RecordOf("k", ""), "S", "walpost-shop").headers,
              Not(Contains(Pair(kNatsTombstoneHeader, "true"))));
}

TEST(MessageTest, TheEventIsNamedByItsIdAndPosition) {
  Record record = RecordOf("k", "v");
  record.id = "id-1";
  record.position = TimelinePosition{1, {Lsn(0x154F6A8), 2}};
  EXPECT_THAT(MessageOf(record, "S", "walpost-shop").headers,
              Contains(Pair("Nats-Msg-Id",
                            "id-1@00000001-000000000154F6A8-0000000000000002/"
                            "walpost-shop/outbox.order")));
}

TEST(MessageTest, AnIdWithoutAPositionNamesNothing) {
  Record record = RecordOf("k", "v");
  record.id = "id-1";
  for (const auto& [name, value] :
       MessageOf(record, "S", "walpost-shop").headers) {
    EXPECT_NE(name, "Nats-Msg-Id");
  }
}

TEST(MessageTest, ARowCannotCommandJetStream) {
  EXPECT_EQ(HeaderName("Nats-Rollup"), "%4Eats-Rollup");
  EXPECT_EQ(HeaderName("nats-msg-id"), "%6Eats-msg-id");
  EXPECT_EQ(HeaderName("Walpost-Key"), "%57alpost-Key");
  EXPECT_EQ(HeaderName("walpost-position"), "walpost-position");
}

TEST(MessageTest, NamesThatALineCannotHaveAreEncoded) {
  EXPECT_EQ(HeaderName("a b:c%"), "a%20b%3Ac%25");
  EXPECT_EQ(HeaderName(""), "%");
  EXPECT_EQ(HeaderName("traceparent"), "traceparent");
}

TEST(MessageTest, ValuesThatALineCannotCarryAreEncoded) {
  EXPECT_EQ(HeaderValue("plain é"), "plain é");
  EXPECT_EQ(HeaderValue(""),
            "=?UTF-8?B?"
            "?=");
  EXPECT_EQ(HeaderValue("a\r\nNats-Rollup: all"),
            "=?UTF-8?B?YQ0KTmF0cy1Sb2xsdXA6IGFsbA==?=");
  EXPECT_EQ(HeaderValue(" a"), "=?UTF-8?B?IGE=?=");
  EXPECT_EQ(HeaderValue("a "), "=?UTF-8?B?YSA=?=");
  EXPECT_EQ(HeaderValue(std::string("\0", 1)), "=?UTF-8?B?AA==?=");
  EXPECT_EQ(HeaderValue("\xFF"), "=?binary?B?/w==?=");
  EXPECT_EQ(HeaderValue("=?UTF-8?B?YQ==?="),
            "=?UTF-8?B?PT9VVEYtOD9CP1lRPT0/PQ==?=");
}

TEST(MessageTest, TheSizeIsThatOfTheServer) {
  NatsMessage message;
  message.payload = "1234";
  message.headers = {{"a", "bc"}};
  // NATS/1.0 CRLF a: bc CRLF CRLF 1234
  EXPECT_EQ(message.size_bytes(), 10u + 7u + 2u + 4u);
}

}  // namespace
}  // namespace walpost
