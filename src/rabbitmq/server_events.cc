#include "rabbitmq/server_events.h"

#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "rabbitmq/message.h"

namespace walpost::rabbitmq {
namespace {

using Result = absl::StatusOr<std::optional<ServerEvent>>;

absl::Status Unexpected(std::string_view what) {
  return absl::DataLossError(
      fmt::format("the server has sent {} out of place", what));
}

template <typename Close>
ClosedEvent Closed(const AmqpMethod& method) {
  const auto& close = method.As<Close>();
  return {{close.reply_code, std::string(AmqpView(close.reply_text))}};
}

}  // namespace

Result ServerEvents::OnFrame(const AmqpFrame& frame) {
  switch (frame.type) {
    case AMQP_FRAME_METHOD:
      return OnMethod(frame.payload);
    case AMQP_FRAME_HEADER:
      return OnHeader(frame.payload);
    case AMQP_FRAME_BODY:
      return OnBody(frame.payload);
    default:
      return std::nullopt;
  }
}

Result ServerEvents::OnMethod(std::string_view payload) {
  WALPOST_ASSIGN_OR_RETURN(const AmqpMethod method, decoder_.Method(payload));
  switch (method.id) {
    case AMQP_BASIC_ACK_METHOD: {
      const auto& ack = method.As<amqp_basic_ack_t>();
      return AckEvent{ack.delivery_tag, ack.multiple != 0, false};
    }
    case AMQP_BASIC_NACK_METHOD: {
      const auto& nack = method.As<amqp_basic_nack_t>();
      return AckEvent{nack.delivery_tag, nack.multiple != 0, true};
    }
    case AMQP_BASIC_RETURN_METHOD: {
      if (returned_) return Unexpected("a return");
      const auto& back = method.As<amqp_basic_return_t>();
      returned_ = ReturnEvent{0, back.reply_code,
                              std::string(AmqpView(back.reply_text)),
                              std::string(AmqpView(back.exchange)),
                              std::string(AmqpView(back.routing_key))};
      return std::nullopt;
    }
    case AMQP_CONNECTION_BLOCKED_METHOD:
      return BlockedEvent{
          std::string(AmqpView(method.As<amqp_connection_blocked_t>().reason))};
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
      return BlockedEvent{};
    case AMQP_CONNECTION_CLOSE_METHOD:
      return Closed<amqp_connection_close_t>(method);
    case AMQP_CHANNEL_CLOSE_METHOD:
      return Closed<amqp_channel_close_t>(method);
    case AMQP_CONNECTION_CLOSE_OK_METHOD:
      return CloseOkEvent{};
    default:
      return std::nullopt;
  }
}

Result ServerEvents::OnHeader(std::string_view payload) {
  if (!returned_ || body_bytes_) return Unexpected("a header");
  WALPOST_ASSIGN_OR_RETURN(const AmqpDecoder::ContentHeader header,
                           decoder_.Header(payload));
  if (header.body_bytes > max_body_) return Unexpected("a large body");
  body_bytes_ = header.body_bytes;
  const amqp_basic_properties_t& properties = *header.properties;
  const bool has_id = (properties._flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0;
  message_id_ = has_id ? AmqpView(properties.message_id) : std::string_view();
  return Returned();
}

Result ServerEvents::OnBody(std::string_view payload) {
  if (!body_bytes_) return Unexpected("a body");
  body_ += payload;
  if (body_.size() > *body_bytes_) return Unexpected("a long body");
  return Returned();
}

// nullopt: the rest of the body is to come.
std::optional<ServerEvent> ServerEvents::Returned() {
  if (body_.size() < *body_bytes_) return std::nullopt;
  ReturnEvent event = *std::exchange(returned_, std::nullopt);
  event.identity = IdentityOf(event.routing_key, message_id_, body_);
  body_bytes_.reset();
  body_ = std::string();
  return event;
}

}  // namespace walpost::rabbitmq
