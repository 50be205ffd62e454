// Bytes of a server, for tests: frames with methods and contents.
#pragma once

#include <gtest/gtest.h>

#include <array>
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

// How a server begins.
inline std::string StartFrame(std::string_view mechanisms,
                              bool has_confirms = true) {
  amqp_table_entry_t confirms{};
  confirms.key = AmqpBytes("publisher_confirms");
  confirms.value.kind = AMQP_FIELD_KIND_BOOLEAN;
  confirms.value.value.boolean = has_confirms ? 1 : 0;
  std::array<amqp_table_entry_t, 2> entries{};
  entries[0].key = AmqpBytes("cluster_name");
  entries[0].value.kind = AMQP_FIELD_KIND_UTF8;
  entries[0].value.value.bytes = AmqpBytes("rabbit@one");
  entries[1].key = AmqpBytes("capabilities");
  entries[1].value.kind = AMQP_FIELD_KIND_TABLE;
  entries[1].value.value.table = {1, &confirms};
  amqp_connection_start_t start{};
  start.version_major = 0;
  start.version_minor = 9;
  start.server_properties = {2, entries.data()};
  start.mechanisms = AmqpBytes(mechanisms);
  start.locales = AmqpBytes("en_US");
  return MethodFrame(AMQP_CONNECTION_START_METHOD, start, 0);
}

inline std::string TuneFrame(uint32_t frame_max) {
  amqp_connection_tune_t tune{};
  tune.channel_max = 2047;
  tune.frame_max = frame_max;
  tune.heartbeat = 60;
  return MethodFrame(AMQP_CONNECTION_TUNE_METHOD, tune, 0);
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
