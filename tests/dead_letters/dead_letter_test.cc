// What the builder writes is what the reader reads.
#include "dead_letters/dead_letter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/reason_code.h"
#include "dead_letters/letter_event.h"
#include "outbox/record_builder.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kTimeline = 7;

OutboxOptions OneTable() {
  OutboxOptions options;
  options.tables.resize(1);
  options.route.topic = "events.{aggregate_type|default:other}.{region}";
  options.dead_letter.topic = "dead";
  return options;
}

Event MakeEvent(const std::vector<Value>& references) {
  Event event;
  event.position = {Lsn(0x154F6A8), 3};
  event.commit_time = WallTime(std::chrono::milliseconds(1'704'153'600'123));
  event.timestamp = WallTime(std::chrono::milliseconds(99));
  event.id = "4d47";
  event.aggregate_type = references[0];
  event.aggregate_id = "42";
  event.type = "";
  event.payload = "the payload";
  event.headers = "{\"trace\":\"1\"}";
  event.references = references;
  return event;
}

absl::Status Dead(std::string_view code) { return Undeliverable(code, "so"); }

// The letter of an event whose references are aggregate_type and region.
absl::StatusOr<std::optional<DeadLetter>> LetterOf(
    const OutboxOptions& options, const Event& event,
    std::string_view code = kReasonTopicIllegal,
    uint32_t timeline = kTimeline) {
  const auto builder = RecordBuilder::Create(options);
  const auto record = (*builder)->BuildDeadLetter(event, Dead(code), timeline);
  EXPECT_TRUE(record.ok()) << record.status();
  return ReadDeadLetter(*record);
}

OutboxOptions WithFormat(ValueFormat format) {
  OutboxOptions options = OneTable();
  options.value_format = format;
  return options;
}

constexpr ValueFormat kFormats[] = {ValueFormat::kRaw, ValueFormat::kProtobuf};

TEST(DeadLetterTest, HasAllOfTheEvent) {
  for (const ValueFormat format : kFormats) {
    const OutboxOptions options = WithFormat(format);
    const std::vector<Value> values = {"order", "eu"};
    const auto read = LetterOf(options, MakeEvent(values));
    ASSERT_TRUE(read.ok() && read->has_value()) << read.status();
    const DeadLetter& letter = **read;
    EXPECT_EQ(letter.error_class, "topic_illegal");
    EXPECT_EQ(letter.reason, "so");
    EXPECT_EQ(letter.topic, "events.order.eu");
    EXPECT_EQ(letter.source, "public.outbox");
    EXPECT_EQ(letter.position, "00000007-000000000154F6A8-0000000000000003");
    EXPECT_EQ(letter.id, "4d47");
    EXPECT_EQ(letter.aggregate_type, "order");
    EXPECT_EQ(letter.aggregate_id, "42");
    EXPECT_EQ(letter.type, "");
    EXPECT_EQ(letter.payload, "the payload");
    EXPECT_EQ(letter.headers, "{\"trace\":\"1\"}");
    EXPECT_EQ(letter.payload_bytes, std::nullopt);
    EXPECT_EQ(letter.columns.size(), 1u);
    EXPECT_EQ(letter.commit_time, MakeEvent(values).commit_time);
    EXPECT_EQ(letter.timestamp, MakeEvent(values).timestamp);
  }
}

TEST(DeadLetterTest, SendsTheEventAsItWouldHaveGone) {
  for (const ValueFormat format : kFormats) {
    const OutboxOptions options = WithFormat(format);
    const std::vector<Value> values = {"order", "eu"};
    const Event event = MakeEvent(values);
    const auto read = LetterOf(options, event);
    ASSERT_TRUE(read.ok()) << read.status();
    const auto wanted = RecordBuilder::Create(options);
    const auto built = RecordBuilder::Create(options);
    LetterEvent letter_event(options, (*built)->routes());
    const auto again = letter_event.Of(**read);
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_NE(again->own_position, nullptr);
    EXPECT_EQ(again->own_position->timeline, kTimeline);
    EXPECT_EQ(again->own_position->position, again->position);
    EXPECT_EQ(again->position, event.position);
    const auto before = (*wanted)->Build(event, kTimeline);
    const auto after = (*built)->Build(*again, kTimeline);
    ASSERT_TRUE(before.ok() && after.ok()) << after.status();
    EXPECT_EQ(before->topic, after->topic);
    EXPECT_EQ(before->key, after->key);
    if (format == ValueFormat::kRaw) {
      EXPECT_EQ(before->value, after->value);
    }
    EXPECT_EQ(before->timestamp, after->timestamp);
    ASSERT_EQ(before->headers.size(), after->headers.size());
    for (size_t i = 0; i < before->headers.size(); ++i) {
      EXPECT_EQ(before->headers[i].name, after->headers[i].name);
      EXPECT_EQ(before->headers[i].value, after->headers[i].value);
    }
  }
}

TEST(DeadLetterTest, NullIsNotEmpty) {
  for (const ValueFormat format : kFormats) {
    const OutboxOptions options = WithFormat(format);
    const std::vector<Value> values = {Value(), Value()};
    Event event = MakeEvent(values);
    event.id = event.aggregate_id = event.payload = event.headers = Value();
    const auto read =
        LetterOf(options, event, kReasonTopicFieldMissing, /*timeline=*/0);
    ASSERT_TRUE(read.ok() && read->has_value()) << read.status();
    const DeadLetter& letter = **read;
    for (const OwnValue* value :
         {&letter.id, &letter.aggregate_type, &letter.aggregate_id,
          &letter.payload, &letter.headers, &letter.columns[0].second}) {
      EXPECT_EQ(*value, std::nullopt);
    }
    EXPECT_EQ(letter.type, "");
    EXPECT_EQ(letter.position, "");
    EXPECT_EQ(letter.topic, "");
  }
}

TEST(DeadLetterTest, WhatIsNotWholeIsNotSent) {
  for (const ValueFormat format : kFormats) {
    const OutboxOptions options = WithFormat(format);
    const std::vector<Value> values = {"order", "eu"};
    const Event event = MakeEvent(values);
    const auto builder = RecordBuilder::Create(options);
    LetterEvent letter_event(options, (*builder)->routes());
    for (const std::string_view code :
         {kReasonMessageUnreadable, kReasonPayloadMissing,
          kReasonColumnUnreadable, kReasonTextNotUtf8, kReasonConversionFailed,
          kReasonTableUnsuitable}) {
      const auto read = LetterOf(options, event, code);
      const absl::Status status = letter_event.Of(**read).status();
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("--from-table"));
    }
    OutboxOptions cut = options;
    cut.dead_letter.payload = DeadLetterOptions::Payload::kNone;
    const auto read = LetterOf(cut, event);
    EXPECT_EQ((*read)->payload_bytes, 11u);
    EXPECT_TRUE(absl::IsFailedPrecondition(letter_event.Of(**read).status()));
  }
}

TEST(DeadLetterTest, WhatTheConfigurationHasForgottenIsNamed) {
  for (const ValueFormat format : kFormats) {
    const OutboxOptions options = WithFormat(format);
    const std::vector<Value> values = {"order", "eu"};
    auto read = LetterOf(options, MakeEvent(values));
    OutboxOptions other = options;
    other.route.topic = "events.{country}";
    auto builder = RecordBuilder::Create(other);
    LetterEvent of_other_route(other, (*builder)->routes());
    absl::Status status = of_other_route.Of(**read).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("column country"));
    (*read)->source = "public.other";
    LetterEvent of_other_table(options, (*builder)->routes());
    status = of_other_table.Of(**read).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("public.other"));
  }
}

TEST(DeadLetterTest, TheMappingOfTodayIsApplied) {
  using Kind = FieldSource::Kind;
  for (const ValueFormat format : kFormats) {
    for (const bool is_message : {false, true}) {
      OutboxOptions options = WithFormat(format);
      options.messages.prefix = "outbox";
      options.messages.topic = options.route.topic;
      const std::vector<Value> values = {"order", "eu"};
      Event event = MakeEvent(values);
      event.source = is_message ? 1 : 0;
      event.headers = "no object";
      const auto read = LetterOf(options, event);
      ASSERT_TRUE(read.ok() && read->has_value()) << read.status();
      FieldSources& columns =
          is_message ? options.messages.columns : options.tables[0].columns;
      columns.headers.kind = Kind::kAbsent;
      columns.aggregate_type = {Kind::kConstant, "invoice"};
      columns.aggregate_id = {Kind::kColumn, "region"};
      columns.type = {Kind::kColumn, "unknown"};
      const auto builder = RecordBuilder::Create(options);
      LetterEvent letter_event(options, (*builder)->routes());
      const auto again = letter_event.Of(**read);
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(again->headers, std::nullopt);
      EXPECT_EQ(again->aggregate_type, "invoice");
      EXPECT_EQ(again->references[0], "invoice");
      EXPECT_EQ(again->aggregate_id, "eu");
      EXPECT_EQ(again->type, event.type) << "the letter lacks the column";
      EXPECT_EQ(again->id, event.id);
    }
  }
}

TEST(DeadLetterTest, AMessageHasItsOwnRoute) {
  for (const ValueFormat format : kFormats) {
    OutboxOptions options = WithFormat(format);
    options.messages.prefix = "outbox";
    options.messages.topic = "messages.{aggregate_type}";
    const std::vector<Value> values = {"order"};
    Event event = MakeEvent(values);
    event.source = 1;
    const auto read = LetterOf(options, event);
    const auto builder = RecordBuilder::Create(options);
    LetterEvent letter_event(options, (*builder)->routes());
    const auto again = letter_event.Of(**read);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ((*builder)->Build(*again, 1)->topic, "messages.order");
  }
}

TEST(DeadLetterReadTest, AnotherRecordIsNone) {
  Record record;
  const std::vector<RecordHeader> headers = {{"id", "1"}, {"trace", "2"}};
  record.headers = headers;
  const auto read = ReadDeadLetter(record);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->has_value());
}

TEST(DeadLetterReadTest, WhatIsMalformedIsNamed) {
  for (const auto& [name, value] :
       {std::pair<std::string_view, Value>{"walpost-dead-letter-timestamp",
                                           "yesterday"},
        {"walpost-dead-letter-commit-time", Value()},
        {"walpost-dead-letter-payload-bytes", "-1"},
        {"walpost-dead-letter-format", "protobuf"}}) {
    Record record;
    record.value = "\xff";
    const std::vector<RecordHeader> headers = {{"walpost-dead-letter", "x"},
                                               {name, value}};
    record.headers = headers;
    const absl::Status status = ReadDeadLetter(record).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name << status;
  }
}

}  // namespace
}  // namespace walpost
