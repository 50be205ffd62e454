#include "debezium/message_encoder.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/utf8.h"
#include "debezium/event_router.h"
#include "debezium/json_document.h"
#include "debezium/json_expansion.h"

namespace walpost::debezium {

class MessageEncoder::Impl {
 public:
  Impl(const Options& options, const MessageFields& fields)
      : options_(options),
        fields_(fields),
        decoding_(options.message_nulls ? JsonNulls::kOptionalBytes
                                        : JsonNulls::kIgnore,
                  JsonEmptyArrays::kIgnore),
        router_(options, "member") {}

  absl::Status Encode(std::string_view content, Encoded& encoded,
                      MessageTexts& texts) {
    arena_.Clear();
    members_.clear();
    // Pointers to its elements are kept.
    members_.reserve(options_.placements.size() + kFieldCount);
    WALPOST_RETURN_IF_ERROR(Decode(content));
    OutboxEvent event;
    WALPOST_RETURN_IF_ERROR(Find(fields_.payload, event.payload));
    if (!fields_.timestamp.empty()) {
      WALPOST_RETURN_IF_ERROR(Find(fields_.timestamp, event.timestamp));
    }
    WALPOST_RETURN_IF_ERROR(Find(fields_.id, event.id));
    WALPOST_RETURN_IF_ERROR(Find(fields_.key, event.key));
    WALPOST_RETURN_IF_ERROR(Find(fields_.route, event.route));
    std::vector<const EventField*> placements;
    for (const Placement& placement : options_.placements) {
      const EventField* field = nullptr;
      const absl::Status status = Find(placement.column, field);
      if (options_.missing_columns == MissingColumns::kError) {
        WALPOST_RETURN_IF_ERROR(status);
      }
      placements.push_back(field);
    }
    event.placements = placements;
    if (router_.has_envelope() && !options_.schema_version.empty()) {
      WALPOST_RETURN_IF_ERROR(Find(options_.schema_version, event.version));
    }
    WALPOST_RETURN_IF_ERROR(router_.Route(event, arena_, encoded));
    WALPOST_RETURN_IF_ERROR(Print(*event.id, id_, texts.id));
    WALPOST_RETURN_IF_ERROR(Print(*event.key, key_, texts.key));
    return Print(*event.route, route_, texts.route);
  }

 private:
  // Members that an event may have beside those of the placements.
  static constexpr size_t kFieldCount = 6;
  // What an error names if it is not one member.
  static constexpr std::string_view kContent = "*";

  absl::Status Reject(std::string_view cause) const {
    return router_.FailureOf(kContent, cause);
  }

  // Reads the message into `root_`.
  absl::Status Decode(std::string_view content) {
    if (options_.binary != BinaryMode::kBytes) {
      return Reject("a message is only read with binary: bytes");
    }
    if (!IsUtf8(content)) return Reject("it is not UTF-8");
    if (!content.starts_with('{')) return Reject("it is not a JSON object");
    const auto document = ParseJson(content, arena_);
    if (!document.ok()) return router_.FailureOf(kContent, document.status());
    const auto schema = decoding_.Infer("", *document);
    if (!schema.ok()) return router_.FailureOf(kContent, schema.status());
    auto root = JsonExpansion::Convert(*document, *schema);
    if (!root.ok()) return router_.FailureOf(kContent, root.status());
    root_ = *std::move(root);
    return absl::OkStatus();
  }

  absl::Status Find(std::string_view name, const EventField*& field) {
    auto& root = std::get<Struct>(root_);
    for (size_t i = 0; i < root.values.size(); ++i) {
      if (root.schema->fields[i].name != name) continue;
      EventField& member = members_.emplace_back();
      member.name = name;
      member.schema = root.schema->fields[i].schema;
      member.value = root.values[i];
      member.is_null = member.value.is_null();
      field = &member;
      return absl::OkStatus();
    }
    return router_.FailureOf(
        name, options_.message_nulls
                  ? "the message has no such member"
                  : "the message has no such member, or it is null: write it, "
                    "or set message_nulls: true");
  }

  absl::Status Print(const EventField& field, std::string& buffer, Text& text) {
    text = std::nullopt;
    if (field.is_null) return absl::OkStatus();
    buffer.clear();
    const absl::Status status = AppendJavaText(field.value, buffer);
    if (!status.ok()) return router_.FailureOf(field.name, status);
    text = buffer;
    return absl::OkStatus();
  }

  const Options options_;
  const MessageFields fields_;
  const JsonExpansion decoding_;
  EventRouter router_;
  TextArena arena_;  // of the current message
  Value root_;
  std::vector<EventField> members_;
  std::string id_;
  std::string key_;
  std::string route_;
};

MessageEncoder::MessageEncoder(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
MessageEncoder::~MessageEncoder() = default;

absl::StatusOr<std::unique_ptr<MessageEncoder>> MessageEncoder::Create(
    const Options& options, const MessageFields& fields) {
  WALPOST_RETURN_IF_ERROR(EventRouter::CheckPlacements(options));
  return std::unique_ptr<MessageEncoder>(
      new MessageEncoder(std::make_unique<Impl>(options, fields)));
}

absl::Status MessageEncoder::Encode(std::string_view content, Encoded& encoded,
                                    MessageTexts& texts) {
  return impl_->Encode(content, encoded, texts);
}

}  // namespace walpost::debezium
