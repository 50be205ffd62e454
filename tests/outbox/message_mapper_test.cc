#include "outbox/message_mapper.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/reason_code.h"

namespace walpost {
namespace {

using Names = std::vector<std::string>;

FieldSource Member(std::string name) {
  return {FieldSource::Kind::kColumn, std::move(name)};
}
FieldSource Constant(std::string text) {
  return {FieldSource::Kind::kConstant, std::move(text)};
}

MessageOptions JsonOptions() {
  MessageOptions options;
  options.prefix = "outbox";
  return options;
}

TEST(MessageMapperTest, TakesTheFieldsByTheirNames) {
  MessageMapper mapper(JsonOptions(), {});
  Event event;
  ASSERT_TRUE(mapper
                  .Map(R"({"id": "4d47", "aggregate_type": "order",
                           "aggregate_id": 42, "type": "OrderPlaced",
                           "payload": {"total": 12.50},
                           "headers": {"traceparent": "00-ab"}})",
                       event)
                  .ok());
  EXPECT_EQ(event.id, "4d47");
  EXPECT_EQ(event.aggregate_type, "order");
  EXPECT_EQ(event.aggregate_id, "42");
  EXPECT_EQ(event.type, "OrderPlaced");
  EXPECT_EQ(event.payload, R"({"total": 12.50})");
  EXPECT_EQ(event.headers, R"({"traceparent": "00-ab"})");
}

TEST(MessageMapperTest, TakesDebeziumsSpellingToo) {
  MessageMapper mapper(JsonOptions(), {});
  Event event;
  ASSERT_TRUE(mapper
                  .Map(R"({"aggregatetype": "order", "aggregateid": "42",
                           "event_type": "OrderPlaced", "payload": null})",
                       event)
                  .ok());
  EXPECT_EQ(event.aggregate_type, "order");
  EXPECT_EQ(event.aggregate_id, "42");
  EXPECT_EQ(event.type, "OrderPlaced");
}

TEST(MessageMapperTest, APayloadThatIsAStringIsItsText) {
  MessageMapper mapper(JsonOptions(), {});
  Event event;
  ASSERT_TRUE(mapper.Map(R"({"payload": "a\"b\u00e9"})", event).ok());
  EXPECT_EQ(event.payload, "a\"bé");
}

TEST(MessageMapperTest, MissingAndNullMembersAreNull) {
  MessageMapper mapper(JsonOptions(), {});
  Event event;
  event.id = "of the last event";
  event.payload = "of the last event";
  ASSERT_TRUE(
      mapper.Map(R"({"payload": null, "aggregate_id": ""})", event).ok());
  EXPECT_EQ(event.id, std::nullopt);
  EXPECT_EQ(event.payload, std::nullopt);
  EXPECT_EQ(event.aggregate_id, "");
}

TEST(MessageMapperTest, AFieldIsAMemberAConstantOrAbsent) {
  MessageOptions options = JsonOptions();
  options.columns.id = Member("event_id");
  options.columns.aggregate_type = Constant("order");
  options.columns.aggregate_id.kind = FieldSource::Kind::kAbsent;
  options.columns.type = Member("not there");
  MessageMapper mapper(options, {});
  Event event;
  ASSERT_TRUE(mapper
                  .Map(R"({"id": 1, "event_id": 2, "aggregate_type": "x",
                           "aggregate_id": "y", "type": "z",
                           "payload": 0})",
                       event)
                  .ok());
  EXPECT_EQ(event.id, "2");
  EXPECT_EQ(event.aggregate_type, "order");
  EXPECT_EQ(event.aggregate_id, std::nullopt);
  EXPECT_EQ(event.type, std::nullopt);
}

TEST(MessageMapperTest, ReferencesAreFieldsOrMembersInOrder) {
  MessageOptions options = JsonOptions();
  options.columns.aggregate_type = Member("kind");
  MessageMapper mapper(options, {"region", "aggregate_type", "missing"});
  Event event;
  ASSERT_TRUE(mapper
                  .Map(R"({"kind": "order", "region": "eu",
                            "payload": 0})",
                       event)
                  .ok());
  EXPECT_EQ(
      std::vector<Value>(event.references.begin(), event.references.end()),
      (std::vector<Value>{"eu", "order", std::nullopt}));
}

TEST(MessageMapperTest, WhatDoesNotParseCannotBeDelivered) {
  MessageMapper mapper(JsonOptions(), {});
  for (const char* content : {"", "alone", "[]", R"({"id": )", "\xff"}) {
    Event event;
    const absl::Status status = mapper.Map(content, event);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << content;
    EXPECT_TRUE(std::string(status.message())
                    .starts_with("the content of a logical message with "
                                 "prefix 'outbox' is not what "
                                 "outbox.messages.format: json expects: "))
        << status;
  }
}

TEST(MessageMapperTest, TheContentItselfCanBeThePayload) {
  MessageOptions options = JsonOptions();
  options.format = MessageOptions::Format::kPayload;
  options.columns.aggregate_type = Constant("audit");
  MessageMapper mapper(options, {"aggregate_type"});
  const std::string content("not JSON at \0 all", 17);
  Event event;
  ASSERT_TRUE(mapper.Map(content, event).ok());
  EXPECT_EQ(event.payload, content);
  EXPECT_EQ(event.aggregate_type, "audit");
  EXPECT_EQ(event.id, std::nullopt);
  ASSERT_EQ(event.references.size(), 1u);
  EXPECT_EQ(event.references[0], "audit");
}

TEST(MessageMapperTest, AMessageWithoutPayloadIsNoTombstone) {
  MessageOptions renamed = JsonOptions();
  renamed.columns.payload = Member("data");
  for (const auto& [options, content] :
       {std::pair(JsonOptions(), R"({"id": 1, "Payload": 2})"),
        std::pair(renamed, R"({"id": 1, "payload": 2})")}) {
    MessageMapper mapper(options, {});
    Event event;
    const absl::Status status = mapper.Map(content, event);
    EXPECT_EQ(ReasonCodeOf(status), kReasonPayloadMissing) << status;
    EXPECT_EQ(event.id, "1") << "says which message it is";
  }
}

TEST(MessageMapperTest, APayloadMayBeSaidToBeAbsent) {
  MessageOptions options = JsonOptions();
  options.columns.payload.kind = FieldSource::Kind::kAbsent;
  MessageMapper mapper(options, {});
  Event event;
  ASSERT_TRUE(mapper.Map(R"({"id": 1})", event).ok());
  EXPECT_EQ(event.payload, std::nullopt);
}

TEST(MessageMapperTest, TheTimestampIsTheCommitTimeUnlessMapped) {
  MessageOptions options = JsonOptions();
  options.columns.payload = Constant("");
  Event event;
  event.commit_time = WallTime(std::chrono::seconds(5));
  MessageMapper unmapped(options, {});
  ASSERT_TRUE(unmapped.Map(R"({"timestamp": 7})", event).ok());
  EXPECT_EQ(event.timestamp, event.commit_time);

  options.columns.timestamp = Member("at");
  MessageMapper mapped(options, {});
  ASSERT_TRUE(mapped.Map(R"({"at": 1704153600001})", event).ok());
  EXPECT_EQ(event.timestamp,
            WallTime(std::chrono::milliseconds(1'704'153'600'001)));
  ASSERT_TRUE(mapped.Map(R"({"at": null})", event).ok());
  EXPECT_EQ(event.timestamp, event.commit_time);
  ASSERT_TRUE(mapped.Map("{}", event).ok());
  EXPECT_EQ(event.timestamp, event.commit_time);
}

TEST(MessageMapperTest, ATimestampThatIsNoIntegerCannotBeDelivered) {
  MessageOptions options = JsonOptions();
  options.columns.payload = Constant("");
  options.columns.timestamp = Member("at");
  MessageMapper mapper(options, {});
  for (const char* content : {R"({"at": "yesterday"})", R"({"at": 1.5})",
                              R"({"at": -1})", R"({"at": {}})"}) {
    Event event;
    EXPECT_TRUE(absl::IsInvalidArgument(mapper.Map(content, event))) << content;
  }
}

TEST(MessageMapperTest, ARenamedPayloadIsTakenByItsName) {
  MessageOptions options = JsonOptions();
  options.columns.payload = Member("data");
  MessageMapper mapper(options, {});
  Event event;
  ASSERT_TRUE(mapper.Map(R"({"data": 1, "payload": 2})", event).ok());
  EXPECT_EQ(event.payload, "1");
  ASSERT_TRUE(mapper.Map(R"({"data": 3})", event).ok());
  EXPECT_EQ(event.payload, "3");
}

// A route by aggregate type, wherever that comes from.
TEST(MessageMapperTest, ARouteRefersToAFieldBeforeAMember) {
  MessageOptions options = JsonOptions();
  options.columns.aggregate_type = Member("kind");
  MessageMapper mapper(options, Names{"aggregate_type"});
  Event event;
  ASSERT_TRUE(mapper
                  .Map(R"({"kind": "order", "aggregate_type": "other",
                           "payload": 1})",
                       event)
                  .ok());
  ASSERT_EQ(event.references.size(), 1u);
  EXPECT_EQ(event.references[0], "order");
}

}  // namespace
}  // namespace walpost
