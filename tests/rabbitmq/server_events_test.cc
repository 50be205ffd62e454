#include "rabbitmq/server_events.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fmt/format.h"
#include "rabbitmq/message.h"
#include "rabbitmq/wire.h"

namespace walpost::rabbitmq {
namespace {

std::string ReturnFrames(std::string_view body, size_t max_frame) {
  amqp_basic_return_t back{};
  back.reply_code = 312;
  back.reply_text = AmqpBytes("NO_ROUTE");
  back.exchange = AmqpBytes("orders");
  back.routing_key = AmqpBytes("a.b");
  std::string frames = MethodFrame(AMQP_BASIC_RETURN_METHOD, back);
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_MESSAGE_ID_FLAG;
  properties.message_id = AmqpBytes("id-1");
  EXPECT_TRUE(
      AppendAmqpContent(kRabbitmqChannel, properties, body, max_frame, frames)
          .ok());
  return frames;
}

std::vector<ServerEvent> EventsOf(const std::string& frames,
                                  absl::Status* error = nullptr) {
  ServerEvents events(100'000);
  std::vector<ServerEvent> all;
  ForEachFrame(frames, [&](const AmqpFrame& frame) {
    const auto event = events.OnFrame(frame);
    if (!event.ok() && error != nullptr) *error = event.status();
    if (event.ok() && *event) all.push_back(**event);
  });
  return all;
}

TEST(ServerEventsTest, AReturnIsWholeWithItsBody) {
  const std::string body(20'000, 'b');
  for (const std::string& text : {std::string("{}"), std::string(), body}) {
    const auto events = EventsOf(ReturnFrames(text, 4096));
    ASSERT_EQ(events.size(), 1u);
    const auto& back = std::get<ReturnEvent>(events[0]);
    EXPECT_EQ(back.identity, IdentityOf("a.b", "id-1", text));
    EXPECT_EQ(back.exchange, "orders");
    EXPECT_EQ(back.code, 312);
  }
}

TEST(ServerEventsTest, ReturnsFollowEachOther) {
  const auto events =
      EventsOf(ReturnFrames("1", 4096) + ReturnFrames("2", 4096));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(std::get<ReturnEvent>(events[1]).identity,
            IdentityOf("a.b", "id-1", "2"));
}

TEST(ServerEventsTest, ABodyThatIsTooLargeIsNotOurs) {
  absl::Status error;
  EventsOf(ReturnFrames(std::string(100'001, 'x'), 4096), &error);
  EXPECT_TRUE(absl::IsDataLoss(error)) << error;
}

TEST(ServerEventsTest, ConfirmationsAndAlarmsAreTold) {
  amqp_basic_nack_t nack{};
  nack.delivery_tag = 7;
  nack.multiple = 1;
  amqp_basic_ack_t ack{};
  ack.delivery_tag = 9;
  ack.multiple = 1;
  amqp_connection_blocked_t blocked{};
  blocked.reason = AmqpBytes("low on memory");
  const auto events = EventsOf(
      MethodFrame(AMQP_BASIC_NACK_METHOD, nack) +
      MethodFrame(AMQP_CONNECTION_BLOCKED_METHOD, blocked, 0) +
      MethodFrame(AMQP_CONNECTION_UNBLOCKED_METHOD,
                  amqp_connection_unblocked_t{}, 0) +
      MethodFrame(AMQP_BASIC_ACK_METHOD, ack) + CloseFrame(404, "NOT_FOUND"));
  ASSERT_EQ(events.size(), 5u);
  EXPECT_TRUE(std::get<AckEvent>(events[0]).is_negative);
  EXPECT_EQ(std::get<AckEvent>(events[0]).tag, 7u);
  EXPECT_EQ(*std::get<BlockedEvent>(events[1]).reason, "low on memory");
  EXPECT_FALSE(std::get<BlockedEvent>(events[2]).reason);
  EXPECT_FALSE(std::get<AckEvent>(events[3]).is_negative);
  EXPECT_TRUE(std::get<AckEvent>(events[3]).is_multiple);
  EXPECT_EQ(std::get<ClosedEvent>(events[4]).error.code, 404);
}

TEST(ServerEventsTest, AContentWithoutAReturnIsAnError) {
  amqp_basic_properties_t properties{};
  std::string frames;
  ASSERT_TRUE(AppendAmqpContent(1, properties, "x", 4096, frames).ok());
  absl::Status error;
  EventsOf(frames, &error);
  EXPECT_TRUE(absl::IsDataLoss(error)) << error;
}

}  // namespace
}  // namespace walpost::rabbitmq
