#include "rabbitmq/amqp_codec.h"

#include <gtest/gtest.h>

#include <string>

#include "fmt/format.h"
#include "rabbitmq/wire.h"

namespace walpost::rabbitmq {
namespace {

std::string AckFrame(uint64_t tag) {
  amqp_basic_ack_t ack{};
  ack.delivery_tag = tag;
  ack.multiple = 1;
  return MethodFrame(AMQP_BASIC_ACK_METHOD, ack);
}

TEST(AmqpCodecTest, WritesTheBytesOfTheSpecification) {
  // type 1, channel 1, 13 bytes, class 60, method 80, tag 5, multiple, end
  EXPECT_EQ(AckFrame(5),
            std::string("\x01\0\x01\0\0\0\x0D\0\x3C\0\x50\0\0\0\0\0\0\0\x05\x01"
                        "\xCE",
                        21));
  std::string out;
  AppendAmqpHeartbeat(out);
  EXPECT_EQ(out, std::string("\x08\0\0\0\0\0\0\xCE", 8));
  out.clear();
  AppendAmqpProtocolHeader(out);
  EXPECT_EQ(out, std::string("AMQP\0\0\x09\x01", 8));
}

TEST(AmqpCodecTest, FramesArriveByteByByte) {
  const std::string bytes = AckFrame(7) + AckFrame(8);
  AmqpFrameReader reader;
  AmqpDecoder decoder;
  uint64_t sum = 0;
  for (const char byte : bytes) {
    reader.Append({&byte, 1});
    const auto frame = reader.Next();
    ASSERT_TRUE(frame.ok()) << frame.status();
    if (!*frame) continue;
    const auto method = decoder.Method((*frame)->payload);
    ASSERT_TRUE(method.ok()) << method.status();
    sum = sum * 10 + method->As<amqp_basic_ack_t>().delivery_tag;
  }
  EXPECT_EQ(sum, 78u);
}

// alert(21), version, length 2: fatal, unexpected message
TEST(AmqpCodecTest, ATlsPortIsNamed) {
  AmqpFrameReader reader;
  reader.Append(std::string("\x15\x03\x03\0\x02\x02\x0A", 7));
  EXPECT_NE(std::string(reader.Next().status().message())
                .find("is it a TLS port? (rabbitmq.tls.enabled)"),
            std::string::npos);
}

TEST(AmqpCodecTest, DamagedFramesAreNamed) {
  std::string bytes = AckFrame(7);
  bytes.back() = 'x';
  AmqpFrameReader reader;
  reader.Append(bytes);
  EXPECT_TRUE(absl::IsDataLoss(reader.Next().status()));
  AmqpFrameReader large;
  large.Append(std::string("\x01\0\x01\x7F\0\0\0", 7));
  EXPECT_TRUE(absl::IsDataLoss(large.Next().status()));
  AmqpFrameReader other;
  other.Append(std::string("AMQP\0\1\0\0", 8));
  EXPECT_TRUE(absl::IsDataLoss(other.Next().status()));
}

// The truncation twin: every prefix of a payload fails, and none crashes.
TEST(AmqpCodecTest, TruncatedMethodsFail) {
  amqp_basic_return_t back{};
  back.reply_code = 312;
  back.reply_text = AmqpBytes("NO_ROUTE");
  back.exchange = AmqpBytes("orders");
  back.routing_key = AmqpBytes("orders.created");
  const std::string frame = MethodFrame(AMQP_BASIC_RETURN_METHOD, back);
  const std::string payload = frame.substr(7, frame.size() - 8);
  AmqpDecoder decoder;
  ASSERT_TRUE(decoder.Method(payload).ok());
  for (size_t size = 0; size < payload.size(); ++size) {
    EXPECT_FALSE(decoder.Method(payload.substr(0, size)).ok()) << size;
  }
}

TEST(AmqpCodecTest, TruncatedHeadersFail) {
  amqp_table_entry_t entry{};
  entry.key = AmqpBytes("id");
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = AmqpBytes("value");
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG;
  properties.headers = {1, &entry};
  properties.message_id = AmqpBytes("m");
  std::string out;
  ASSERT_TRUE(AppendAmqpContent(1, properties, "", 4096, out).ok());
  const std::string payload = out.substr(7, out.size() - 8);
  AmqpDecoder decoder;
  ASSERT_TRUE(decoder.Header(payload).ok());
  for (size_t size = 0; size < payload.size(); ++size) {
    EXPECT_FALSE(decoder.Header(payload.substr(0, size)).ok()) << size;
  }
}

TEST(AmqpCodecTest, ALongBodyIsCutIntoFrames) {
  amqp_basic_properties_t properties{};
  const std::string body(10'000, 'b');
  std::string out;
  ASSERT_TRUE(AppendAmqpContent(1, properties, body, 4096, out).ok());
  std::string read;
  int bodies = 0;
  ForEachFrame(out, [&](const AmqpFrame& frame) {
    EXPECT_LE(frame.payload.size() + kAmqpFrameOverhead, 4096u);
    if (frame.type != AMQP_FRAME_BODY) return;
    read += frame.payload;
    ++bodies;
  });
  EXPECT_EQ(read, body);
  EXPECT_EQ(bodies, 3);
}

TEST(AmqpCodecTest, PropertiesThatFillMoreThanAFrameAreRejected) {
  const std::string large(5000, 'x');
  amqp_table_entry_t entry{};
  entry.key = AmqpBytes("large");
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = AmqpBytes(large);
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_HEADERS_FLAG;
  properties.headers = {1, &entry};
  std::string out = "before";
  EXPECT_TRUE(
      absl::IsInvalidArgument(AppendAmqpContent(1, properties, "", 4096, out)));
  EXPECT_EQ(out, "before");
}

}  // namespace
}  // namespace walpost::rabbitmq
