// ServerEvents: what the server says behind the handshake, as events.
//
// A return comes in several frames: the method, a header, and the body. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "rabbitmq/amqp_codec.h"
#include "rabbitmq/server_error.h"

namespace walpost::rabbitmq {

struct AckEvent {
  uint64_t tag = 0;
  bool is_multiple = false;
  bool is_negative = false;  // basic.nack
};
// A message that reached no queue.
struct ReturnEvent {
  uint64_t identity = 0;  // message.h
  uint16_t code = 0;
  std::string text;
  std::string exchange;
  std::string routing_key;
};
// The server takes no messages, because of an alarm. Empty: it does again.
struct BlockedEvent {
  std::optional<std::string> reason;
};
struct ClosedEvent {
  ServerError error;
};
// The answer to connection.close.
struct CloseOkEvent {};

using ServerEvent = std::variant<AckEvent, ReturnEvent, BlockedEvent,
                                 ClosedEvent, CloseOkEvent>;

class ServerEvents {
 public:
  // A larger body that is returned is not one of ours.
  explicit ServerEvents(size_t max_body_bytes) : max_body_(max_body_bytes) {}

  // nullopt: the frame says nothing, or not yet. kDataLoss: it is damaged.
  absl::StatusOr<std::optional<ServerEvent>> OnFrame(const AmqpFrame& frame);

 private:
  absl::StatusOr<std::optional<ServerEvent>> OnMethod(std::string_view payload);
  absl::StatusOr<std::optional<ServerEvent>> OnHeader(std::string_view payload);
  absl::StatusOr<std::optional<ServerEvent>> OnBody(std::string_view payload);
  std::optional<ServerEvent> Returned();

  AmqpDecoder decoder_;
  size_t max_body_;
  std::optional<ReturnEvent> returned_;  // as far as it has come
  std::optional<uint64_t> body_bytes_;
  std::string message_id_;
  std::string body_;
};

}  // namespace walpost::rabbitmq
