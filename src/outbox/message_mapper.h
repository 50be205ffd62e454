// MessageMapper: transactional logical messages -> events.
//
// The content of pg_logical_emit_message() is a JSON object with the names
// of the fields:
//
//   {"id": "4d47…", "aggregate_type": "order", "aggregate_id": "42",
//    "type": "OrderPlaced", "payload": {"total": 12.50},
//    "headers": {"traceparent": "00-…"}}
//
// A payload that is a JSON string is published as its text, any other with its
// original bytes. "payload": null is a tombstone, like a row with NULL; a
// message without the member is an error. With MessageOptions::Format::kPayload
// the content is the payload itself and the other fields are constants.
//
// With MessageOptions::debezium, aggregate_id, payload and headers are those of
// the record, as Debezium makes them (debezium/message_encoder.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "debezium/message_encoder.h"
#include "outbox/encoded_event.h"
#include "outbox/event.h"
#include "outbox/json_object.h"
#include "outbox/options.h"

namespace walpost {

// The members of a message that are the fields of its event, for Debezium.
debezium::MessageFields MessageFieldsOf(const MessageOptions& options);

class MessageMapper {
 public:
  // `references`: as for TableMapper; a name that is not a field is a member of
  // the JSON object.
  MessageMapper(MessageOptions options, std::vector<std::string> references);

  // Fills the fields of `event`. Its views are valid until the next Map, and as
  // long as `content` and this mapper.
  //
  // kInvalidArgument: the content is not such an object, lacks the payload, or
  // its timestamp is not an integer of milliseconds: this event cannot be
  // delivered. Its other fields identify it.
  absl::Status Map(std::string_view content, Event& event);

 private:
  absl::Status MapAsDebezium(std::string_view content, Event& event);
  Value Get(const FieldSource& source,
            std::span<const std::string_view> usual_names) const;
  Value GetReference(std::string_view name, const Event& event) const;
  absl::Status CheckPayload() const;
  absl::Status MapTimestamp(Event& event) const;

  MessageOptions options_;
  std::vector<std::string> references_;
  std::vector<Value> reference_values_;
  JsonObject object_;

  // Set if records are made as Debezium makes them.
  std::unique_ptr<debezium::MessageEncoder> encoder_;
  debezium::MessageTexts texts_;
  EncodedEvent encoded_;
};

}  // namespace walpost
