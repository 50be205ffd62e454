#include "outbox/message_mapper.h"

#include "base/check.h"
#include "base/reason_code.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/column_decoder.h"
#include "outbox/fields.h"
#include "pgoutput/type_oid.h"

namespace walpost {
debezium::MessageFields MessageFieldsOf(const MessageOptions& options) {
  const auto set = [](const FieldSource& source, std::string& name) {
    if (source.kind == FieldSource::Kind::kColumn) name = source.text;
  };
  debezium::MessageFields fields;
  set(options.columns.id, fields.id);
  set(options.columns.aggregate_id, fields.key);
  set(options.columns.aggregate_type, fields.route);
  set(options.columns.payload, fields.payload);
  set(options.columns.timestamp, fields.timestamp);
  return fields;
}

MessageMapper::MessageMapper(MessageOptions options,
                             std::vector<std::string> references)
    : options_(std::move(options)),
      references_(std::move(references)),
      reference_values_(references_.size()) {
  if (!options_.enabled() || !options_.debezium) return;
  auto encoder = debezium::MessageEncoder::Create(*options_.debezium,
                                                  MessageFieldsOf(options_));
  WALPOST_CHECK(encoder.ok());  // as far as config/records_section.cc lets it
  encoder_ = *std::move(encoder);
}

absl::Status MessageMapper::Map(std::string_view content, Event& event) {
  if (encoder_) return MapAsDebezium(content, event);
  const bool is_json = options_.format == MessageOptions::Format::kJson;
  if (is_json) {
    const absl::Status status = object_.Parse(content);
    if (!status.ok()) {
      event.payload = content;
      return Undeliverable(
          kReasonMessageUnreadable,
          fmt::format(
              "the content of a logical message with prefix '{}' is not what "
              "outbox.messages.format: json expects: {}",
              options_.prefix, std::string(status.message())));
    }
  }
  for (const FieldDescription& field : kFields) {
    event.*field.value = Get(options_.columns.*field.source, field.usual_names);
  }
  if (!is_json) event.payload = content;
  for (size_t i = 0; i < references_.size(); ++i) {
    reference_values_[i] = GetReference(references_[i], event);
  }
  event.references = reference_values_;
  if (is_json) WALPOST_RETURN_IF_ERROR(CheckPayload());
  return MapTimestamp(event);
}

absl::Status MessageMapper::MapAsDebezium(std::string_view content,
                                          Event& event) {
  event.timestamp = event.commit_time;
  const absl::Status status =
      encoder_->Encode(content, encoded_.parts(), texts_);
  if (!object_.Parse(content).ok()) object_.Clear();
  event.id = texts_.id;
  event.aggregate_id = texts_.key;
  event.aggregate_type = texts_.route;
  event.payload = content;
  for (size_t i = 0; i < references_.size(); ++i) {
    reference_values_[i] = GetReference(references_[i], event);
  }
  event.references = reference_values_;
  WALPOST_RETURN_IF_ERROR(status);
  encoded_.MoveTo(event);
  return absl::OkStatus();
}

// A misspelled member would publish every event as a tombstone.
absl::Status MessageMapper::CheckPayload() const {
  const FieldSource& source = options_.columns.payload;
  std::string_view name;
  switch (source.kind) {
    case FieldSource::Kind::kConstant:
    case FieldSource::Kind::kAbsent:
      return absl::OkStatus();
    case FieldSource::Kind::kUsual:
      name = "payload";
      break;
    case FieldSource::Kind::kColumn:
      name = source.text;
      break;
  }
  if (object_.Find(name) != nullptr) return absl::OkStatus();
  return Undeliverable(
      kReasonPayloadMissing,
      fmt::format("a logical message with prefix '{0}' has no member '{1}': "
                  "write \"{1}\": null for a tombstone, or set "
                  "outbox.messages.columns.payload (a member, "
                  "{{constant: ...}} or null)",
                  options_.prefix, name));
}

absl::Status MessageMapper::MapTimestamp(Event& event) const {
  event.timestamp = event.commit_time;
  const Value millis = Get(options_.columns.timestamp, {});
  if (!millis.has_value()) return absl::OkStatus();
  WALPOST_ASSIGN_OR_RETURN(event.timestamp,
                           DecodeTimestamp(pgoutput::kInt8Oid, *millis));
  return absl::OkStatus();
}

Value MessageMapper::Get(const FieldSource& source,
                         std::span<const std::string_view> usual_names) const {
  switch (source.kind) {
    case FieldSource::Kind::kUsual:
      for (const std::string_view name : usual_names) {
        if (const Value* member = object_.Find(name)) return *member;
      }
      return std::nullopt;
    case FieldSource::Kind::kColumn: {
      const Value* member = object_.Find(source.text);
      return member == nullptr ? Value() : *member;
    }
    case FieldSource::Kind::kConstant:
      return source.text;
    case FieldSource::Kind::kAbsent:
      return std::nullopt;
  }
  return std::nullopt;
}

Value MessageMapper::GetReference(std::string_view name,
                                  const Event& event) const {
  const size_t field = FindField(name);
  if (field < kFields.size()) {
    const Value& value = event.*kFields[field].value;
    if (value.has_value()) return value;
  }
  const Value* member = object_.Find(name);
  return member == nullptr ? Value() : *member;
}

}  // namespace walpost
