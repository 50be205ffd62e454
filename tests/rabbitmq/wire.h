// Bytes of a server, for tests: frames with methods and contents.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "rabbitmq/amqp_codec.h"
#include "rabbitmq/handshake.h"

namespace walpost::rabbitmq {

template <typename T>
std::string MethodFrame(amqp_method_number_t id, T fields,
                        uint16_t channel = kRabbitmqChannel) {
  std::string out;
  EXPECT_TRUE(AppendAmqpMethod(channel, id, fields, out).ok());
  return out;
}

inline std::string CloseFrame(uint16_t code, std::string_view text,
                              bool of_channel = true) {
  if (of_channel) {
    amqp_channel_close_t close{};
    close.reply_code = code;
    close.reply_text = AmqpBytes(text);
    return MethodFrame(AMQP_CHANNEL_CLOSE_METHOD, close);
  }
  amqp_connection_close_t close{};
  close.reply_code = code;
  close.reply_text = AmqpBytes(text);
  return MethodFrame(AMQP_CONNECTION_CLOSE_METHOD, close, 0);
}

// The ids of the methods in `bytes`, in hex: "a000b 14000a ".
inline std::string MethodsIn(std::string_view bytes) {
  AmqpFrameReader reader;
  reader.SetMaxFrame(1 << 20);
  reader.Append(bytes);
  AmqpDecoder decoder;
  std::string text;
  for (;;) {
    const auto frame = reader.Next();
    if (!frame.ok()) return text + std::string(frame.status().message());
    if (!*frame) return text;
    if ((*frame)->type != AMQP_FRAME_METHOD) continue;
    const auto method = decoder.Method((*frame)->payload);
    if (!method.ok()) return text + std::string(method.status().message());
    text += fmt::format("{:x} ", method->id);
  }
}

// Calls visit(frame) for each.
template <typename Visit>
void ForEachFrame(std::string_view bytes, const Visit& visit) {
  AmqpFrameReader reader;
  reader.SetMaxFrame(1 << 20);
  reader.Append(bytes);
  for (;;) {
    const auto frame = reader.Next();
    ASSERT_TRUE(frame.ok()) << frame.status();
    if (!*frame) return;
    visit(**frame);
  }
}

}  // namespace walpost::rabbitmq
