#include "rabbitmq/message.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/reason_code.h"
#include "fmt/format.h"
#include "rabbitmq/server_events.h"
#include "rabbitmq/wire.h"

namespace walpost::rabbitmq {
namespace {

MessageFormat Format() {
  return {.exchange = *NameTemplate::Parse("{topic.1}"),
          .routing_key = *NameTemplate::Parse("{topic}"),
          .content_type = "application/json",
          .max_message_bytes = 100,
          .max_frame = 4096};
}

// What a server reads: "name=value ...", without order.
class Read {
 public:
  explicit Read(const Message& message) {
    AmqpDecoder decoder;
    ForEachFrame(message.frames, [&](const AmqpFrame& frame) {
      if (frame.type == AMQP_FRAME_METHOD) {
        const auto method = decoder.Method(frame.payload);
        const auto& publish = method->As<amqp_basic_publish_t>();
        fields["exchange"] = AmqpView(publish.exchange);
        fields["routing_key"] = AmqpView(publish.routing_key);
        fields["mandatory"] = std::to_string(publish.mandatory);
      } else if (frame.type == AMQP_FRAME_HEADER) {
        Take(*decoder.Header(frame.payload)->properties);
      } else {
        fields["body"] += frame.payload;
      }
    });
  }

  std::map<std::string, std::string> fields;

 private:
  void Take(const amqp_basic_properties_t& properties) {
    fields["message_id"] = AmqpView(properties.message_id);
    fields["type"] = AmqpView(properties.type);
    fields["content_type"] = AmqpView(properties.content_type);
    fields["timestamp"] = std::to_string(properties.timestamp);
    fields["mode"] = std::to_string(properties.delivery_mode);
    for (int i = 0; i < properties.headers.num_entries; ++i) {
      const amqp_table_entry_t& entry = properties.headers.entries[i];
      std::string text = fmt::format("{}:", char(entry.value.kind));
      if (entry.value.kind == AMQP_FIELD_KIND_UTF8) {
        text += AmqpView(entry.value.value.bytes);
      }
      if (entry.value.kind == AMQP_FIELD_KIND_I64) {
        text += std::to_string(entry.value.value.i64);
      }
      fields["h." + std::string(AmqpView(entry.key))] = text;
    }
  }
};

Record Order() {
  Record record;
  record.topic = "orders.created";
  record.key = "o1";
  record.value = "{}";
  record.id = "id-1";
  record.type = "OrderCreated";
  record.timestamp = WallTime(std::chrono::microseconds(1'700'000'000'123'456));
  return record;
}

TEST(MessageTest, EveryFieldHasItsPlace) {
  const std::vector<RecordHeader> headers = {
      {"id", "id-1"}, {"empty", ""}, {"null", std::nullopt}};
  Record record = Order();
  record.headers = headers;
  const auto message = MakeMessage(Format(), kRabbitmqChannel, record);
  ASSERT_TRUE(message.ok()) << message.status();
  Read read(*message);
  EXPECT_EQ(read.fields, (std::map<std::string, std::string>{
                             {"exchange", "orders"},
                             {"routing_key", "orders.created"},
                             {"mandatory", "1"},
                             {"body", "{}"},
                             {"message_id", "id-1"},
                             {"type", "OrderCreated"},
                             {"content_type", "application/json"},
                             {"timestamp", "1700000000"},
                             {"mode", "2"},
                             {"h.id", "S:id-1"},
                             {"h.empty", "S:"},
                             {"h.null", "V:"},
                             {"h.walpost-key", "S:o1"},
                             {"h.timestamp_in_ms", "l:1700000000123"},
                         }));
}

TEST(MessageTest, ANullPayloadIsToldFromAnEmptyOne) {
  Record record = Order();
  record.value = std::nullopt;
  record.key = std::nullopt;
  Read null(*MakeMessage(Format(), kRabbitmqChannel, record));
  EXPECT_EQ(null.fields["h.walpost-null"], "t:");
  EXPECT_FALSE(null.fields.contains("h.walpost-key"));
  record.value = "";
  Read empty(*MakeMessage(Format(), kRabbitmqChannel, record));
  EXPECT_FALSE(empty.fields.contains("h.walpost-null"));
}

TEST(MessageTest, AHeaderSaysAnotherContentType) {
  const std::vector<RecordHeader> headers = {{"content-type", "text/plain"}};
  Record record = Order();
  record.headers = headers;
  Read read(*MakeMessage(Format(), kRabbitmqChannel, record));
  EXPECT_EQ(read.fields["content_type"], "text/plain");
}

TEST(MessageTest, ALongIdIsLeftToTheHeader) {
  const std::string id(256, 'i');
  Record record = Order();
  record.id = id;
  record.type = "";
  Read read(*MakeMessage(Format(), kRabbitmqChannel, record));
  EXPECT_EQ(read.fields["message_id"], "");
  EXPECT_EQ(read.fields["type"], "");
}

TEST(MessageTest, WhatAmqpCannotTakeIsUndeliverable) {
  const auto reason = [](const Record& record) {
    const auto made = MakeMessage(Format(), kRabbitmqChannel, record);
    EXPECT_TRUE(absl::IsInvalidArgument(made.status())) << made.status();
    return ReasonCodeOf(made.status());
  };
  const std::string long_text(5000, 'x');
  Record large = Order();
  large.value = long_text;
  EXPECT_EQ(reason(large), kReasonRecordTooLarge);
  Record topic = Order();
  topic.topic = std::string_view(long_text).substr(0, 256);
  EXPECT_EQ(reason(topic), kReasonTopicIllegal);
  const std::vector<std::pair<std::vector<RecordHeader>, std::string>> all = {
      {{{"large", long_text}}, kReasonRecordTooLarge},
      {{{std::string_view(long_text).substr(0, 256), ""}},
       kReasonRecordRefused},
      {{{"CC", "other"}}, kReasonRecordRefused},
      {{{"BCC", "other"}}, kReasonRecordRefused},
  };
  for (const auto& [headers, expected] : all) {
    Record record = Order();
    record.headers = headers;
    EXPECT_EQ(reason(record), expected);
  }
}

TEST(MessageTest, AReturnIsKnownByKeyIdAndBody) {
  const Record record = Order();
  const auto message = MakeMessage(Format(), kRabbitmqChannel, record);
  EXPECT_EQ(message->identity, IdentityOf("orders.created", "id-1", "{}"));
  EXPECT_NE(message->identity, IdentityOf("orders.created", "id-1", "{ }"));
}

}  // namespace
}  // namespace walpost::rabbitmq
