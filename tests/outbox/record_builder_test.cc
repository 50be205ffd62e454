#include "outbox/record_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/reason_code.h"
#include "walpost/v1/envelope.pb.h"

namespace walpost {
namespace {

using std::literals::operator""sv;
using Headers = std::vector<std::pair<std::string, std::optional<std::string>>>;

constexpr uint32_t kTimeline = 1;
constexpr std::string_view kPosition =
    "00000001-000000000154F6A8-0000000000000003";

// An event with every field; `values` are its references.
Event MakeEvent(const std::vector<Value>& values) {
  Event event;
  event.position = {Lsn(0x154F6A8), 3};
  event.commit_time = WallTime(std::chrono::milliseconds(1'704'153'600'123));
  event.timestamp = event.commit_time;
  event.xid = Xid(781);
  event.id = "4d47";
  event.aggregate_type = "order";
  event.aggregate_id = "42";
  event.type = "OrderPlaced";
  event.payload = R"({"n": 1})";
  event.references = values;
  return event;
}

OutboxOptions OneTable(std::string topic = "outbox.event.{aggregate_type}") {
  OutboxOptions options;
  options.tables.resize(1);
  options.route.topic = std::move(topic);
  return options;
}

std::unique_ptr<RecordBuilder> MustCreate(const OutboxOptions& options) {
  auto builder = RecordBuilder::Create(options);
  EXPECT_TRUE(builder.ok()) << builder.status();
  return *std::move(builder);
}

Headers HeadersOf(const Record& record) {
  Headers headers;
  for (const RecordHeader& header : record.headers) {
    headers.emplace_back(header.name, header.value);
  }
  return headers;
}

TEST(RecordBuilderTest, RoutesKeyValueAndTimestamp) {
  const auto builder = MustCreate(OneTable());
  const std::vector<Value> values = {"order"};
  const Event event = MakeEvent(values);
  const auto record = builder->Build(event, kTimeline);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->topic, "outbox.event.order");
  EXPECT_EQ(record->key, "42");
  EXPECT_EQ(record->value, R"({"n": 1})");
  EXPECT_EQ(record->value->data(), event.payload->data()) << "not copied";
  EXPECT_EQ(record->timestamp, event.timestamp);
}

TEST(RecordBuilderTest, TheColumnOfTheRouteHasThePartition) {
  OutboxOptions options = OneTable("all");
  options.route.partition = "shard";
  const auto builder = MustCreate(options);
  for (const auto& [value, partition] :
       std::vector<std::pair<std::string_view, int32_t>>{
           {"0", 0}, {"7", 7}, {"2147483647", 2147483647}}) {
    const std::vector<Value> references{value};
    const auto record = builder->Build(MakeEvent(references), kTimeline);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ(record->partition, partition);
  }
  const auto by_key = MustCreate(OneTable("all"));
  EXPECT_EQ(by_key->Build(MakeEvent({}), kTimeline)->partition, std::nullopt);
}

TEST(RecordBuilderTest, WhatIsNotAPartitionCannotBeDelivered) {
  OutboxOptions options = OneTable("all");
  options.route.partition = "shard";
  const auto builder = MustCreate(options);
  for (const Value value :
       std::vector<Value>{std::nullopt, "", "-1", "+1", "1.0", " 1", "1 ",
                          "2147483648", "x", "NaN"}) {
    const std::vector<Value> references{value};
    const auto record = builder->Build(MakeEvent(references), kTimeline);
    EXPECT_EQ(ReasonCodeOf(record.status()), kReasonPartitionIllegal)
        << value.value_or("NULL");
  }
}

TEST(RecordBuilderTest, AMarkIsTheLastHeaderAndMayMoveTheTopic) {
  const auto builder = MustCreate(OneTable());
  builder->SetMark({"walpost-replay", "run-1", "copy."});
  const std::vector<Value> values = {"order"};
  const Event event = MakeEvent(values);
  const auto record = builder->Build(event, kTimeline);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->topic, "copy.outbox.event.order");
  EXPECT_EQ(HeadersOf(*record).back(),
            (Headers::value_type{"walpost-replay", "run-1"}));
}

TEST(RecordBuilderTest, NoEventGoesToATopicOfOurs) {
  OutboxOptions options = OneTable("{aggregate_type}");
  options.checkpoint_topic = "checkpoints";
  const auto builder = MustCreate(options);
  const std::vector<Value> values = {"checkpoints"};
  const Event event = MakeEvent(values);
  const auto record = builder->Build(event, kTimeline);
  EXPECT_EQ(ReasonCodeOf(record.status()), kReasonTopicIllegal);
  const std::vector<Value> letters = {options.dead_letter.topic};
  EXPECT_FALSE(builder->Build(MakeEvent(letters), kTimeline).ok());
  const std::vector<Value> others = {"checkpoints2"};
  EXPECT_TRUE(builder->Build(MakeEvent(others), kTimeline).ok());
}

TEST(RecordBuilderTest, AKeyOfNoBytesIsNotNoKey) {
  const auto builder = MustCreate(OneTable("t"));
  Event event = MakeEvent({});
  event.aggregate_id = "";
  EXPECT_EQ(builder->Build(event, kTimeline)->key, "");
  event.aggregate_id = std::nullopt;
  EXPECT_EQ(builder->Build(event, kTimeline)->key, std::nullopt);
}

TEST(RecordBuilderTest, ANullPayloadIsATombstoneAnEmptyOneIsNot) {
  const auto builder = MustCreate(OneTable("t"));
  Event event = MakeEvent({});
  event.payload = std::nullopt;
  EXPECT_EQ(builder->Build(event, kTimeline)->value, std::nullopt);
  event.payload = "";
  EXPECT_EQ(builder->Build(event, kTimeline)->value, "");
}

TEST(RecordBuilderTest, HeadersComeInTheirOrder) {
  OutboxOptions options = OneTable("{aggregate_type}");
  options.route.headers = {{"eventType", "type"}, {"region", "region"}};
  const auto builder = MustCreate(options);
  const std::vector<Value> values = {"order", "OrderPlaced", std::nullopt};
  Event event = MakeEvent(values);
  event.headers = R"({"traceparent": "00-ab", "retry": 3, "flags": [1, 2],)"
                  R"( "none": null, "empty": ""})";
  const auto record = builder->Build(event, kTimeline);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(HeadersOf(*record),
            (Headers{{"id", "4d47"},
                     {"traceparent", "00-ab"},
                     {"retry", "3"},
                     {"flags", "[1, 2]"},
                     {"none", std::nullopt},
                     {"empty", ""},
                     {"eventType", "OrderPlaced"},
                     {"region", std::nullopt},
                     {"walpost-position", std::string(kPosition)}}));
}

TEST(RecordBuilderTest, AMemberThatIsNamedAsOneOfOursIsRenamed) {
  OutboxOptions options = OneTable("{aggregate_type}");
  options.route.headers = {{"eventType", "type"}};
  const auto builder = MustCreate(options);
  builder->SetMark({"walpost-replay", "run-1", ""});
  const std::vector<Value> values = {"order", "OrderPlaced"};
  Event event = MakeEvent(values);
  event.headers = R"({"id": 1, "eventType": 2, "walpost-position": 3,)"
                  R"( "walpost-recovered": 4, "Id": 5})";
  const auto record = builder->Build(event, kTimeline);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(HeadersOf(*record),
            (Headers{{"id", "4d47"},
                     {"headers.id", "1"},
                     {"headers.eventType", "2"},
                     {"headers.walpost-position", "3"},
                     {"headers.walpost-recovered", "4"},
                     {"Id", "5"},
                     {"eventType", "OrderPlaced"},
                     {"walpost-position", std::string(kPosition)},
                     {"walpost-replay", "run-1"}}));
}

TEST(RecordBuilderTest, WithoutAnIdOfOursAMemberMayBeNamedSo) {
  const auto builder = MustCreate(OneTable("t"));
  Event event = MakeEvent({});
  event.id = std::nullopt;
  event.headers = R"({"id": 1})";
  EXPECT_EQ(HeadersOf(*builder->Build(event, kTimeline)).front(),
            (Headers::value_type{"id", "1"}));
}

TEST(RecordBuilderTest, AMemberThatComesTwiceCannotBeDelivered) {
  OutboxOptions options = OneTable("{aggregate_type}");
  options.route.headers = {{"headers.kind", "type"}, {"kind", "type"}};
  const auto builder = MustCreate(options);
  const std::vector<Value> values = {"order", "OrderPlaced"};
  Event event = MakeEvent(values);
  for (const char* headers :
       {R"({"a": 1, "b": 2, "a": 1})", R"({"id": 1, "headers.id": 2})",
        R"({"id": 1, "id": 2})", R"({"kind": 1})"}) {
    event.headers = headers;
    const auto record = builder->Build(event, kTimeline);
    EXPECT_EQ(ReasonCodeOf(record.status()), kReasonHeadersUnreadable)
        << headers;
  }
}

TEST(RecordBuilderTest, NothingOfTheLastRecordStays) {
  const auto builder = MustCreate(OneTable("{aggregate_type}"));
  const std::vector<Value> long_topic = {"a-long-aggregate-type"};
  Event event = MakeEvent(long_topic);
  event.headers = R"({"a": 1})";
  ASSERT_TRUE(builder->Build(event, kTimeline).ok());
  const std::vector<Value> values = {"b"};
  event = MakeEvent(values);
  event.id = std::nullopt;
  event.headers = std::nullopt;
  const auto record = builder->Build(event, kTimeline);
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->topic, "b");
  EXPECT_EQ(HeadersOf(*record),
            (Headers{{"walpost-position", std::string(kPosition)}}));
}

TEST(RecordBuilderTest, ThePositionHeaderCanBeSwitchedOff) {
  OutboxOptions options = OneTable("t");
  options.route.position_header = false;
  const auto builder = MustCreate(options);
  EXPECT_EQ(HeadersOf(*builder->Build(MakeEvent({}), kTimeline)),
            (Headers{{"id", "4d47"}}));
}

TEST(RecordBuilderTest, ThePositionHeaderCarriesTheTimeline) {
  const auto builder = MustCreate(OneTable("t"));
  const auto record = builder->Build(MakeEvent({}), 0x2A);
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->headers.back().value,
            "0000002A-000000000154F6A8-0000000000000003");
}

// Stored events are sent in an order that is not that of their positions.
TEST(RecordBuilderTest, P7AnEventSaysItsOwnPosition) {
  OutboxOptions options = OneTable();
  options.value_format = ValueFormat::kProtobuf;
  const auto builder = MustCreate(options);
  RecordMark mark;
  mark.lsn = Lsn(1);
  builder->SetMark(mark);
  const TimelinePosition own{0x2A, {Lsn(0x154F6A8), 3}};
  const std::vector<Value> values = {"order"};
  Event event = MakeEvent(values);
  event.position = {Lsn(), 7};
  event.own_position = &own;
  const auto record = builder->Build(event, kTimeline);
  ASSERT_TRUE(record.ok());
  v1::Envelope envelope;
  ASSERT_TRUE(envelope.ParseFromString(std::string(*record->value)));
  EXPECT_EQ(envelope.position().timeline(), 0x2Au);
  EXPECT_EQ(envelope.position().commit_lsn(), 0x154F6A8u);
  EXPECT_EQ(envelope.position().ordinal(), 3u);
  EXPECT_EQ(HeadersOf(*record)[1].second,
            "0000002A-000000000154F6A8-0000000000000003");
}

// Rows of a table are only numbered.
TEST(RecordBuilderTest, APositionWithoutAnLsnGetsThatOfTheMark) {
  OutboxOptions options = OneTable();
  options.value_format = ValueFormat::kProtobuf;
  const auto builder = MustCreate(options);
  RecordMark mark;
  mark.lsn = Lsn(0x154F6A7);
  builder->SetMark(mark);
  const std::vector<Value> values = {"order"};
  Event event = MakeEvent(values);
  const auto position_of = [&builder](const Event& of) {
    const auto record = builder->Build(of, kTimeline);
    v1::Envelope envelope;
    EXPECT_TRUE(envelope.ParseFromString(std::string(*record->value)));
    EXPECT_EQ(HeadersOf(*record)[1].second,
              PositionText(kTimeline, {Lsn(envelope.position().commit_lsn()),
                                       of.position.ordinal})
                  .view());
    return envelope.position().commit_lsn();
  };
  EXPECT_EQ(position_of(event), 0x154F6A8u) << "it has its own";
  event.position = {Lsn(), 3};
  EXPECT_EQ(position_of(event), 0x154F6A7u);
  const auto letter = builder->BuildDeadLetter(
      event, Undeliverable(kReasonTopicIllegal, "a/b"), kTimeline);
  ASSERT_TRUE(letter.ok()) << letter.status();
  const Headers headers = HeadersOf(*letter);
  EXPECT_NE(std::ranges::find(headers,
                              Headers::value_type{"walpost-position",
                                                  "00000001-000000000154F6A7-"
                                                  "0000000000000003"}),
            headers.end());
  event.position = {};
  EXPECT_EQ(position_of(event), 0u) << "it is not even numbered";
  event.position = {Lsn(), 3};
  builder->SetMark({});
  EXPECT_EQ(position_of(event), 0u) << "the mark has none";
}

TEST(RecordBuilderTest, EachSourceHasItsOwnRoute) {
  OutboxOptions options;
  options.tables.resize(2);
  options.tables[1].topic = "second";
  options.messages.topic = "messages";
  options.route.topic = "first";
  const auto builder = MustCreate(options);
  Event event = MakeEvent({});
  const char* topics[] = {"first", "second", "messages"};
  for (size_t source = 0; source < 3; ++source) {
    event.source = source;
    EXPECT_EQ(builder->Build(event, kTimeline)->topic, topics[source]);
  }
}

TEST(RecordBuilderTest, WhatHasNoLegalTopicCannotBeDelivered) {
  const auto builder = MustCreate(OneTable());
  for (const Value& value : {Value(), Value("order placed"), Value("a/b")}) {
    const std::vector<Value> values = {value};
    const absl::Status status =
        builder->Build(MakeEvent(values), kTimeline).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
}

TEST(RecordBuilderTest, HeadersThatAreNoObjectCannotBeDelivered) {
  const auto builder = MustCreate(OneTable("t"));
  for (const char* headers : {"[]", "null", "1", "{", ""}) {
    Event event = MakeEvent({});
    event.headers = headers;
    const absl::Status status = builder->Build(event, kTimeline).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << headers;
    EXPECT_TRUE(std::string(status.message())
                    .starts_with("the headers column is not a JSON object"))
        << status;
  }
}

TEST(RecordBuilderTest, SizeCountsKeyValueAndHeaders) {
  const auto builder = MustCreate(OneTable("t"));
  Event event = MakeEvent({});
  const size_t small = builder->Build(event, kTimeline)->size_bytes;
  EXPECT_GT(small, event.payload->size() + event.aggregate_id->size());
  const std::string payload(event.payload->size() + 1'000, 'x');
  event.payload = payload;
  EXPECT_EQ(builder->Build(event, kTimeline)->size_bytes, small + 1'000);
  event.headers = R"({"a": "0123456789"})";
  EXPECT_GE(builder->Build(event, kTimeline)->size_bytes, small + 1'011);
}

TEST(RecordBuilderTest, ABrokenTemplateIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      RecordBuilder::Create(OneTable("{broken")).status()));
}

// ---- claim_check_above

OutboxOptions WithClaimChecks(size_t above) {
  OutboxOptions options = OneTable("t");
  options.tables[0].claim_check_above = above;
  return options;
}

TEST(RecordBuilderTest, ALargePayloadStaysInItsRow) {
  const auto builder = MustCreate(WithClaimChecks(4));
  builder->SetMark({"walpost-replay", "run-1", ""});
  Event event = MakeEvent({});
  event.payload = "hello";
  const auto record = builder->Build(event, kTimeline);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_TRUE(record->has_claim_check);
  EXPECT_EQ(record->value, "") << "null would be a tombstone";
  EXPECT_EQ(record->key, "42");
  EXPECT_EQ(HeadersOf(*record),
            (Headers{{"id", "4d47"},
                     {"walpost-position", std::string(kPosition)},
                     {"walpost-claim-check",
                      R"({"table":"public.outbox","id":"4d47","bytes":5,)"
                      R"("sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e)"
                      R"(1b161e5c1fa7425e73043362938b9824"})"},
                     {"walpost-replay", "run-1"}}));
}

TEST(RecordBuilderTest, OnlyALargerPayloadOfAnEventWithAnIdStaysBehind) {
  const auto builder = MustCreate(WithClaimChecks(5));
  Event event = MakeEvent({});
  const auto value_of = [&](Value payload) {
    event.payload = payload;
    const auto record = builder->Build(event, kTimeline);
    EXPECT_TRUE(record.ok() && !record->has_claim_check);
    return record->value;
  };
  EXPECT_EQ(value_of("hello"), "hello");
  EXPECT_EQ(value_of(std::nullopt), std::nullopt);
  event.payload = "hello!";
  EXPECT_TRUE(builder->Build(event, kTimeline)->has_claim_check);
  EXPECT_EQ(value_of("hello"), "hello") << "the one before had none";
  event.id.reset();
  EXPECT_EQ(value_of("hello!"), "hello!") << "nothing to find the row by";
  event.source = 1;
  event.id = "4d47";
  EXPECT_EQ(value_of("hello!"), "hello!") << "a logical message has no row";
}

TEST(RecordBuilderTest, TheEnvelopeHasTheClaimCheckInThePayloadsPlace) {
  OutboxOptions options = WithClaimChecks(4);
  options.value_format = ValueFormat::kProtobuf;
  const auto builder = MustCreate(options);
  Event event = MakeEvent({});
  event.payload = "hello";
  const auto record = builder->Build(event, kTimeline);
  ASSERT_TRUE(record.ok()) << record.status();
  v1::Envelope envelope;
  ASSERT_TRUE(envelope.ParseFromString(std::string(*record->value)));
  EXPECT_FALSE(envelope.has_payload());
  EXPECT_EQ(envelope.id(), "4d47");
  EXPECT_EQ(envelope.claim_check().table(), "public.outbox");
  EXPECT_EQ(envelope.claim_check().bytes(), 5u);
  const Sha256Digest digest = Sha256("hello");
  EXPECT_EQ(envelope.claim_check().sha256(),
            std::string(digest.begin(), digest.end()));
}

// ---- value.format: protobuf

std::unique_ptr<RecordBuilder> ProtobufBuilder() {
  OutboxOptions options = OneTable("t");
  options.value_format = ValueFormat::kProtobuf;
  return MustCreate(options);
}

v1::Envelope MustParse(const Record& record) {
  v1::Envelope envelope;
  EXPECT_TRUE(record.value.has_value());
  EXPECT_TRUE(envelope.ParseFromString(std::string(*record.value)));
  return envelope;
}

TEST(RecordBuilderTest, TheEnvelopeCarriesTheWholeEvent) {
  const auto builder = ProtobufBuilder();
  Event event = MakeEvent({});
  event.payload = "\0\xff binary"sv;
  event.headers = R"({"traceparent": "00-ab", "none": null, "n": 1.50})";
  const auto record = builder->Build(event, kTimeline);
  ASSERT_TRUE(record.ok()) << record.status();
  const v1::Envelope envelope = MustParse(*record);
  EXPECT_EQ(envelope.id(), "4d47");
  EXPECT_EQ(envelope.aggregate_type(), "order");
  EXPECT_EQ(envelope.aggregate_id(), "42");
  EXPECT_EQ(envelope.type(), "OrderPlaced");
  EXPECT_EQ(envelope.payload(), "\0\xff binary"sv);
  ASSERT_EQ(envelope.headers_size(), 3);
  EXPECT_EQ(envelope.headers(0).name(), "traceparent");
  EXPECT_EQ(envelope.headers(0).value(), "00-ab");
  EXPECT_FALSE(envelope.headers(1).has_value()) << "null";
  EXPECT_EQ(envelope.headers(2).value(), "1.50");
  EXPECT_EQ(envelope.commit_time().seconds(), 1'704'153'600);
  EXPECT_EQ(envelope.commit_time().nanos(), 123'000'000);
  EXPECT_EQ(envelope.position().timeline(), kTimeline);
  EXPECT_EQ(envelope.position().commit_lsn(), 0x154F6A8u);
  EXPECT_EQ(envelope.position().ordinal(), 3u);
  EXPECT_EQ(envelope.xid(), 781u);
}

TEST(RecordBuilderTest, TheEnvelopeKeepsNullApartFromEmpty) {
  const auto builder = ProtobufBuilder();
  // First one with everything, whose memory is used again.
  Event event = MakeEvent({});
  event.headers = R"({"a": 1})";
  ASSERT_TRUE(builder->Build(event, kTimeline).ok());

  event = Event();
  event.type = "";
  event.payload = "";
  const auto record = builder->Build(event, kTimeline);
  ASSERT_TRUE(record.ok()) << record.status();
  const v1::Envelope envelope = MustParse(*record);
  EXPECT_FALSE(envelope.has_id());
  EXPECT_FALSE(envelope.has_aggregate_type());
  EXPECT_FALSE(envelope.has_aggregate_id());
  EXPECT_TRUE(envelope.has_type());
  EXPECT_TRUE(envelope.has_payload());
  EXPECT_EQ(envelope.headers_size(), 0);
  EXPECT_TRUE(envelope.has_commit_time());
  EXPECT_TRUE(envelope.has_position());
}

TEST(RecordBuilderTest, TheEnvelopeIsNoReasonToChangeKeyTopicOrHeaders) {
  const auto raw = MustCreate(OneTable("t"));
  const auto protobuf = ProtobufBuilder();
  Event event = MakeEvent({});
  event.headers = R"({"a": 1})";
  const auto one = raw->Build(event, kTimeline);
  const auto other = protobuf->Build(event, kTimeline);
  EXPECT_EQ(one->topic, other->topic);
  EXPECT_EQ(one->key, other->key);
  EXPECT_EQ(HeadersOf(*one), HeadersOf(*other));
  EXPECT_GT(other->size_bytes, one->size_bytes);
}

TEST(RecordBuilderTest, EqualEventsGiveEqualEnvelopes) {
  const auto one = ProtobufBuilder();
  const auto other = ProtobufBuilder();
  const Event event = MakeEvent({});
  EXPECT_EQ(one->Build(event, kTimeline)->value,
            other->Build(event, kTimeline)->value);
}

TEST(RecordBuilderTest, TheEnvelopeTakesTimesBefore1970) {
  const auto builder = ProtobufBuilder();
  Event event = MakeEvent({});
  event.commit_time = WallTime(std::chrono::microseconds(-1));
  const auto record = builder->Build(event, kTimeline);
  const v1::Envelope envelope = MustParse(*record);
  EXPECT_EQ(envelope.commit_time().seconds(), -1);
  EXPECT_EQ(envelope.commit_time().nanos(), 999'999'000);
}

// Its text fields are UTF-8, and a consumer's generated code refuses others.
// A bytea column mapped to one of them is raw bytes.
TEST(RecordBuilderTest, BytesThatAreNoTextDoNotMakeAnUnreadableEnvelope) {
  const auto builder = ProtobufBuilder();
  for (Value Event::*field : {&Event::id, &Event::aggregate_type,
                              &Event::aggregate_id, &Event::type}) {
    Event event = MakeEvent({});
    event.*field = "\xff\xfe"sv;
    const auto record = builder->Build(event, kTimeline);
    if (!record.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(record.status()));
      continue;
    }
    v1::Envelope envelope;
    EXPECT_TRUE(envelope.ParseFromString(std::string(*record->value)));
  }
}

// ---- As Debezium makes them.

TEST(RecordBuilderTest, AnOldKeyStandsBeforeTheContextOfDebezium) {
  OutboxOptions options = OneTable();
  debezium::Options records;
  records.logical_name = "srv";
  records.context_headers = debezium::ContextHeaders::kSince32;
  options.debezium = std::make_shared<const debezium::Options>(records);
  options.route.position_header = false;
  const auto builder = MustCreate(options);
  const std::vector<Value> values = {"order"};
  Event event = MakeEvent(values);
  event.headers = R"({"__debezium.oldkey": "{\"id\":1}", "id": "2"})";
  const auto record = builder->Build(event, kTimeline);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(HeadersOf(*record),
            (Headers{{"__debezium.oldkey", R"({"id":1})"},
                     {"__debezium.context.connectorLogicalName", "srv"},
                     {"__debezium.context.taskId", "0"},
                     {"__debezium.context.connectorName", "postgresql"},
                     {"id", "2"}}));
}

// A sink that names records by the place must not take one that is sent in
// addition for a repeat.
TEST(RecordBuilderTest, OnlyTheFirstRecordOfAnEventHasItsPlace) {
  const std::vector<Value> values = {"order"};
  Event event = MakeEvent(values);
  auto builder = MustCreate(OneTable());
  Record record = *builder->Build(event, kTimeline);
  EXPECT_EQ(record.id, "4d47");
  EXPECT_EQ(record.type, "OrderPlaced");
  ASSERT_TRUE(record.position.has_value());
  EXPECT_EQ(record.position->position, event.position);
  EXPECT_EQ(record.position->timeline, kTimeline);

  RecordMark mark;
  mark.header = "walpost-replay";
  builder->SetMark(mark);
  EXPECT_FALSE(builder->Build(event, kTimeline)->position.has_value());
  mark.header = "walpost-snapshot";
  mark.has_own_place = true;
  builder->SetMark(mark);
  EXPECT_TRUE(builder->Build(event, kTimeline)->position.has_value());

  builder->SetMark({});
  event.position.commit_lsn = Lsn();
  EXPECT_FALSE(builder->Build(event, kTimeline)->position.has_value());
}

}  // namespace
}  // namespace walpost
