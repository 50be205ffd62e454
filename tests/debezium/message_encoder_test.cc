#include "debezium/message_encoder.h"

#include <string>

#include "gtest/gtest.h"

namespace walpost::debezium {
namespace {

// The value of a message with that payload.
std::string ValueOf(MessageEncoder& encoder, const std::string& payload) {
  const std::string content =
      R"({"id":1,"aggregatetype":"order","aggregateid":"k","type":"T",)"
      R"("payload":)" +
      payload + "}";
  Encoded encoded;
  MessageTexts texts;
  const absl::Status status = encoder.Encode(content, encoded, texts);
  return status.ok() ? std::string(encoded.value.value_or("null"))
                     : status.ToString();
}

TEST(MessageEncoderTest, EachMessageHasTheSchemaOfItsOwnMembers) {
  Options options;
  options.value_converter = Converter::kJson;
  options.placements = {{"type", Placement::Place::kEnvelope, ""}};
  const auto encoder = MessageEncoder::Create(options, MessageFields());
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  EXPECT_EQ(ValueOf(**encoder, R"({"a":1})"),
            R"({"payload":{"a":1},"type":"T"})");
  EXPECT_EQ(ValueOf(**encoder, R"({"b":"x","c":true})"),
            R"({"payload":{"b":"x","c":true},"type":"T"})");
  EXPECT_EQ(ValueOf(**encoder, R"("text")"),
            R"({"payload":"text","type":"T"})");
}

TEST(MessageEncoderTest, ErrorsNameTheMember) {
  const auto encoder = MessageEncoder::Create(Options(), MessageFields());
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  Encoded encoded;
  MessageTexts texts;
  const absl::Status status = (*encoder)->Encode(R"({"id":1})", encoded, texts);
  EXPECT_EQ(std::string(status.message()),
            "member 'payload': the message has no such member, or it is null: "
            "write it, or set message_nulls: true");
}

}  // namespace
}  // namespace walpost::debezium
