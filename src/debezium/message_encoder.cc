#include "debezium/message_encoder.h"

#include <utility>

namespace walpost::debezium {

class MessageEncoder::Impl {};

MessageEncoder::MessageEncoder(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
MessageEncoder::~MessageEncoder() = default;

absl::StatusOr<std::unique_ptr<MessageEncoder>> MessageEncoder::Create(
    const Options&, const MessageFields&) {
  return std::unique_ptr<MessageEncoder>(
      new MessageEncoder(std::make_unique<Impl>()));
}

absl::Status MessageEncoder::Encode(std::string_view, Encoded&, MessageTexts&) {
  return absl::UnimplementedError("messages");
}

}  // namespace walpost::debezium
