#include "outbox/dead_letter_builder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/reason_code.h"
#include "outbox/record_builder.h"
#include "walpost/v1/dead_letter.pb.h"

namespace walpost {
namespace {

using Headers = std::map<std::string, std::optional<std::string>>;

constexpr uint32_t kTimeline = 7;

OutboxOptions OneTable() {
  OutboxOptions options;
  options.tables.resize(1);
  options.route.topic = "events.{aggregate_type}.{region}";
  options.dead_letter.topic = "dead";
  return options;
}

std::unique_ptr<RecordBuilder> MustCreate(const OutboxOptions& options) {
  auto builder = RecordBuilder::Create(options);
  EXPECT_TRUE(builder.ok()) << builder.status();
  return *std::move(builder);
}

// `references`: aggregate_type and region.
Event MakeEvent(const std::vector<Value>& references) {
  Event event;
  event.position = {Lsn(0x154F6A8), 3};
  event.commit_time = WallTime(std::chrono::milliseconds(1'704'153'600'123));
  event.timestamp = WallTime(std::chrono::milliseconds(99));
  event.xid = Xid(781);
  event.id = "4d47";
  event.aggregate_type = references.empty() ? Value() : references.front();
  event.aggregate_id = "42";
  event.payload = "the payload";
  event.headers = "[1]";
  event.references = references;
  return event;
}

absl::Status Reason() {
  return Undeliverable(kReasonHeadersUnreadable, "not an object");
}

Headers HeadersOf(const Record& record) {
  Headers headers;
  for (const RecordHeader& header : record.headers) {
    const bool is_new = headers.emplace(header.name, header.value).second;
    EXPECT_TRUE(is_new) << header.name;
  }
  return headers;
}

TEST(DeadLetterBuilderTest, HasAllOfTheEventAndWhyItIsDead) {
  const auto builder = MustCreate(OneTable());
  const std::vector<Value> values = {"order", "eu"};
  const Event event = MakeEvent(values);
  const auto record = builder->BuildDeadLetter(event, Reason(), kTimeline);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->topic, "dead");
  EXPECT_EQ(record->key, "42");
  EXPECT_EQ(record->value, "the payload");
  EXPECT_EQ(record->timestamp, event.timestamp);
  EXPECT_GT(record->size_bytes, 450u);
  EXPECT_EQ(HeadersOf(*record),
            (Headers{{"id", "4d47"},
                     {"walpost-position",
                      "00000007-000000000154F6A8-0000000000000003"},
                     {"walpost-dead-letter", "headers_unreadable"},
                     {"walpost-dead-letter-reason", "not an object"},
                     {"walpost-dead-letter-topic", "events.order.eu"},
                     {"walpost-dead-letter-source", "public.outbox"},
                     {"walpost-dead-letter-commit-time", "1704153600123"},
                     {"walpost-dead-letter-timestamp", "99"},
                     {"walpost-dead-letter-aggregate-type", "order"},
                     {"walpost-dead-letter-type", std::nullopt},
                     {"walpost-dead-letter-headers", "[1]"},
                     {"walpost-dead-letter-column-region", "eu"}}));
}

TEST(DeadLetterBuilderTest, AnEventWithoutATopicHasNoneInItsDeadLetter) {
  const auto builder = MustCreate(OneTable());
  for (const std::vector<Value>& values :
       {std::vector<Value>{Value(), "eu"}, std::vector<Value>{"a b", "eu"},
        std::vector<Value>{}}) {
    const Event event = MakeEvent(values);
    const auto record = builder->BuildDeadLetter(event, Reason(), kTimeline);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_FALSE(HeadersOf(*record).contains("walpost-dead-letter-topic"));
  }
}

TEST(DeadLetterBuilderTest, AMessageThatCouldNotBeReadIsKept) {
  OutboxOptions options = OneTable();
  options.messages.prefix = "outbox";
  const auto builder = MustCreate(options);
  Event event;
  event.source = 1;
  event.position = {Lsn(0x100), 1};
  event.payload = "{";
  const auto record = builder->BuildDeadLetter(event, Reason(), kTimeline);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->key, std::nullopt);
  EXPECT_EQ(record->value, "{");
  EXPECT_EQ(HeadersOf(*record)["walpost-dead-letter-source"], "outbox");
}

TEST(DeadLetterBuilderTest, TheTopicMayNameFieldsClassAndSource) {
  OutboxOptions options = OneTable();
  options.dead_letter.topic =
      "dead.{aggregate_type|default:none}.{class}.{source}";
  const auto builder = MustCreate(options);
  for (const auto& [type, topic] :
       {std::pair<Value, const char*>{
            "order", "dead.order.headers_unreadable.public.outbox"},
        {Value(), "dead.none.headers_unreadable.public.outbox"}}) {
    const std::vector<Value> values = {type, "eu"};
    const Event event = MakeEvent(values);
    const auto record = builder->BuildDeadLetter(event, Reason(), kTimeline);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ(record->topic, topic);
  }
}

TEST(DeadLetterBuilderTest, ATopicOfColumnsIsRefused) {
  OutboxOptions options = OneTable();
  for (const char* topic : {"dead.{region}", "dead.{", "", "a b"}) {
    options.dead_letter.topic = topic;
    const absl::Status status = RecordBuilder::Create(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << topic << status;
  }
}

TEST(DeadLetterBuilderTest, TheTopicOfTheEventIsNotForItsDeadLetter) {
  OutboxOptions options = OneTable();
  options.dead_letter.topic = "events.{aggregate_type}.eu";
  const auto builder = MustCreate(options);
  const std::vector<Value> values = {"order", "eu"};
  const Event event = MakeEvent(values);
  const auto record = builder->BuildDeadLetter(event, Reason(), kTimeline);
  EXPECT_TRUE(absl::IsInvalidArgument(record.status())) << record.status();
}

TEST(DeadLetterBuilderTest, ALetterForPostgresIsNotARecord) {
  OutboxOptions options = OneTable();
  options.dead_letter.store = DeadLetterOptions::Store::kPostgres;
  const auto builder = MustCreate(options);
  const std::vector<Value> values = {"order", "eu"};
  const Event event = MakeEvent(values);
  const auto record = builder->BuildDeadLetter(event, Reason(), kTimeline);
  EXPECT_TRUE(absl::IsInvalidArgument(record.status())) << record.status();
}

TEST(DeadLetterBuilderTest, APayloadMayBeCutOrLeftOutAndItsSizeIsKnown) {
  using Payload = DeadLetterOptions::Payload;
  const std::string wide(5'000, 'x');
  struct Row {
    Payload payload;
    Value value;
    size_t kept;
    bool has_size;
  };
  for (const Row& row : {Row{Payload::kWhole, wide, 5'000, false},
                         Row{Payload::kCut, wide, 4'096, true},
                         Row{Payload::kCut, "short", 5, false},
                         Row{Payload::kNone, wide, 0, true},
                         Row{Payload::kNone, "", 0, false}}) {
    OutboxOptions options = OneTable();
    options.dead_letter.payload = row.payload;
    const auto builder = MustCreate(options);
    const std::vector<Value> values = {"order", "eu"};
    Event event = MakeEvent(values);
    event.payload = row.value;
    const auto record = builder->BuildDeadLetter(event, Reason(), kTimeline);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ(record->value->size(), row.kept);
    Headers headers = HeadersOf(*record);
    EXPECT_EQ(headers.contains("walpost-dead-letter-payload-bytes"),
              row.has_size);
    if (row.has_size) {
      EXPECT_EQ(headers["walpost-dead-letter-payload-bytes"], "5000");
    }
  }
}

TEST(DeadLetterBuilderTest, ATombstoneStaysOne) {
  OutboxOptions options = OneTable();
  options.dead_letter.payload = DeadLetterOptions::Payload::kNone;
  const auto builder = MustCreate(options);
  const std::vector<Value> values = {"order", "eu"};
  Event event = MakeEvent(values);
  event.payload = std::nullopt;
  const auto record = builder->BuildDeadLetter(event, Reason(), kTimeline);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->value, std::nullopt);
  EXPECT_FALSE(
      HeadersOf(*record).contains("walpost-dead-letter-payload-bytes"));
}

TEST(DeadLetterBuilderTest, WithoutATimelineThereIsNoPosition) {
  const auto builder = MustCreate(OneTable());
  const std::vector<Value> values = {"order", "eu"};
  const Event event = MakeEvent(values);
  const auto record = builder->BuildDeadLetter(event, Reason(), 0);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_FALSE(HeadersOf(*record).contains("walpost-position"));
}

TEST(DeadLetterBuilderTest, AMarkIsAHeaderOfItToo) {
  const auto builder = MustCreate(OneTable());
  builder->SetMark({"walpost-replay", "run-1", "copy."});
  const std::vector<Value> values = {"order", "eu"};
  const Event event = MakeEvent(values);
  const auto record = builder->BuildDeadLetter(event, Reason(), kTimeline);
  ASSERT_TRUE(record.ok()) << record.status();
  Headers headers = HeadersOf(*record);
  EXPECT_EQ(headers["walpost-replay"], "run-1");
  EXPECT_EQ(headers["walpost-dead-letter-topic"], "copy.events.order.eu");
  EXPECT_EQ(record->topic, "dead");
}

TEST(DeadLetterBuilderTest, ProtobufHasTheSameFactsAndBytesThatAreNoText) {
  OutboxOptions options = OneTable();
  options.value_format = ValueFormat::kProtobuf;
  options.dead_letter.payload = DeadLetterOptions::Payload::kNone;
  const auto builder = MustCreate(options);
  const std::vector<Value> values = {"\xff", Value()};
  const Event event = MakeEvent(values);
  const auto record = builder->BuildDeadLetter(event, Reason(), kTimeline);
  ASSERT_TRUE(record.ok()) << record.status();
  v1::DeadLetter letter;
  ASSERT_TRUE(letter.ParseFromString(std::string(*record->value)));
  EXPECT_EQ(letter.error_class(), "headers_unreadable");
  EXPECT_EQ(letter.reason(), "not an object");
  EXPECT_FALSE(letter.has_topic());
  EXPECT_EQ(letter.source(), "public.outbox");
  EXPECT_EQ(letter.id(), "4d47");
  EXPECT_EQ(letter.aggregate_type(), "\xff");
  EXPECT_EQ(letter.aggregate_id(), "42");
  EXPECT_FALSE(letter.has_type());
  EXPECT_EQ(letter.payload(), "");
  EXPECT_TRUE(letter.has_payload());
  EXPECT_EQ(letter.payload_bytes(), 11u);
  EXPECT_EQ(letter.headers(), "[1]");
  ASSERT_EQ(letter.columns_size(), 1);
  EXPECT_EQ(letter.columns(0).name(), "region");
  EXPECT_FALSE(letter.columns(0).has_value());
  EXPECT_EQ(letter.position().timeline(), kTimeline);
  EXPECT_EQ(letter.position().commit_lsn(), 0x154F6A8u);
  EXPECT_EQ(letter.position().ordinal(), 3u);
  EXPECT_EQ(letter.xid(), 781u);
  EXPECT_EQ(letter.commit_time().seconds(), 1'704'153'600);
  EXPECT_EQ(letter.timestamp().nanos(), 99'000'000);
}

}  // namespace
}  // namespace walpost
