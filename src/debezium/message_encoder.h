// MessageEncoder: the content of pg_logical_emit_message -> key, value and
// headers of its record, as Debezium's DecodeLogicalDecodingMessageContent, its
// outbox event router and the converters of Kafka Connect make them.
//
//   {"id":7,"aggregatetype":"order","aggregateid":42,"payload":{"a":1}}
//   ──▶ key 42, value {"a":1}, header id 7
//
// The types of the fields are those of the JSON. Owned by the MessageMapper.
// Pure: no clock, no I/O.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "debezium/options.h"
#include "debezium/row_encoder.h"

namespace walpost::debezium {

// Members of the message that are the fields of the event.
struct MessageFields {
  std::string id = "id";
  std::string key = "aggregateid";
  std::string route = "aggregatetype";
  std::string payload = "payload";
  std::string timestamp;  // empty: none; the event router accepts no member

  friend bool operator==(const MessageFields&, const MessageFields&) = default;
};

// Fields as plain text, whatever their type; nullopt: NULL. Valid until the
// next Encode.
struct MessageTexts {
  Text id;
  Text key;
  Text route;
};

class MessageEncoder {
 public:
  // kFailedPrecondition: the configuration lets no message pass; names the key.
  static absl::StatusOr<std::unique_ptr<MessageEncoder>> Create(
      const Options& options, const MessageFields& fields);
  ~MessageEncoder();

  // kInvalidArgument: Debezium's task fails because of this message; names the
  // member and the cause, with a reason code (base/reason_code.h).
  absl::Status Encode(std::string_view content, Encoded& encoded,
                      MessageTexts& texts);

 private:
  class Impl;
  explicit MessageEncoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace walpost::debezium
