#include "debezium/event_router.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/reason_code.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost::debezium {
namespace {

// The member that the payload is, whatever the name of its column.
constexpr std::string_view kPayloadMember = "payload";
// Envelopes whose schema is kept: aggregate types and versions.
constexpr size_t kMaxEnvelopeSchemas = 1'000;

bool IsEnvelope(const Placement& placement) {
  return placement.place == Placement::Place::kEnvelope;
}

std::string_view NameOf(const Placement& placement) {
  return placement.name.empty() ? placement.column : placement.name;
}

// String.trim: everything up to U+0020.
bool IsEmptyText(const Value& value) {
  const auto* text = std::get_if<std::string_view>(&value);
  return text != nullptr && std::ranges::all_of(*text, [](char c) {
           return static_cast<uint8_t>(c) <= ' ';
         });
}

std::string NotOfType(std::string_view type) {
  return fmt::format("it is not of type {}", type);
}

// Milliseconds since 1970; nullopt: no time that the event router reads.
std::optional<int64_t> EventMillisOf(const EventField& field) {
  const auto* number = std::get_if<int64_t>(&field.value);
  if (number == nullptr) return std::nullopt;
  const std::string_view name = field.schema->name;
  if (name == "io.debezium.time.Timestamp") return *number;
  if (name == "io.debezium.time.MicroTimestamp") return *number / 1'000;
  if (name == "io.debezium.time.NanoTimestamp") return *number / 1'000'000;
  return std::nullopt;
}

}  // namespace

EventRouter::EventRouter(const Options& options, std::string_view field_kind)
    : options_(options),
      field_kind_(field_kind),
      has_envelope_(std::ranges::any_of(options.placements, IsEnvelope)),
      key_converter_(options.key_converter, options),
      value_converter_(options.value_converter, options),
      header_converter_(options.header_converter, options),
      expansion_(options.json_nulls, options.json_empty_arrays),
      header_buffers_(options.placements.size() + 2) {}

absl::Status EventRouter::CheckPlacements(const Options& options) {
  absl::flat_hash_set<std::string_view> names = {kPayloadMember};
  for (const Placement& placement : options.placements) {
    if (!IsEnvelope(placement)) continue;
    if (!names.insert(NameOf(placement)).second) {
      return absl::FailedPreconditionError(fmt::format(
          "records.placements: the envelope has two members '{}': give column "
          "'{}' another name",
          NameOf(placement), placement.column));
    }
  }
  return absl::OkStatus();
}

std::string EventRouter::SchemaJson(const Schema& schema) const {
  for (const RecordConverter* converter :
       {&key_converter_, &value_converter_, &header_converter_}) {
    std::string json = converter->SchemaJson(schema);
    if (!json.empty()) return json;
  }
  return {};
}

absl::Status EventRouter::FailureOf(std::string_view field,
                                    std::string_view cause) const {
  return Undeliverable(kReasonConversionFailed,
                       fmt::format("{} '{}': {}", field_kind_, field, cause));
}

absl::Status EventRouter::Route(const OutboxEvent& event, TextArena& arena,
                                Encoded& encoded) {
  encoded = {};
  if (event.timestamp != nullptr) {
    WALPOST_RETURN_IF_ERROR(RouteTimestamp(*event.timestamp, encoded));
  }
  if (event.route != nullptr) {
    WALPOST_RETURN_IF_ERROR(RouteTopic(*event.route, encoded));
  }
  WALPOST_RETURN_IF_ERROR(AddHeaders(event, encoded));
  Payload payload;
  payload.schema = event.payload->schema;
  payload.schema_json = &event.payload->schema_json;
  payload.value = &event.payload->value;
  if (options_.expand_json) Expand(*event.payload, arena, payload);
  const bool is_empty = payload.value->is_null() || IsEmptyText(*payload.value);
  std::optional<int32_t> version;
  if (has_envelope_) {
    WALPOST_RETURN_IF_ERROR(VersionOf(event, version));
    WALPOST_RETURN_IF_ERROR(FillEnvelope(event, payload));
  }
  if (!is_empty || !options_.tombstone_on_empty) {
    WALPOST_RETURN_IF_ERROR(
        has_envelope_ ? ConvertEnvelope(event, payload, version, encoded)
                      : ConvertPayload(event, payload, encoded));
  }
  if (event.key != nullptr) {
    WALPOST_RETURN_IF_ERROR(ConvertKey(*event.key, encoded));
  }
  if (options_.runtime == Runtime::kServer) {
    encoded.partition = std::nullopt;
    encoded.timestamp = std::nullopt;
  }
  return absl::OkStatus();
}

absl::Status EventRouter::RouteTimestamp(const EventField& field,
                                         Encoded& encoded) const {
  if (field.schema->type != Schema::Type::kInt64) {
    return FailureOf(field.name,
                     NotOfType("INT64, as timestamp: map a timestamp without "
                               "time zone"));
  }
  if (field.is_null) return absl::OkStatus();
  const std::optional<int64_t> millis = EventMillisOf(field);
  if (!millis) {
    return FailureOf(field.name,
                     "it has no time that the event router reads: map a "
                     "timestamp without time zone, and let time_precision be "
                     "one of numbers");
  }
  if (*millis < -1) {
    return FailureOf(field.name, "Kafka has no time before 1970");
  }
  if (*millis == -1) return absl::OkStatus();  // as if there was none
  constexpr int64_t kMaxMillis = std::numeric_limits<int64_t>::max() / 1'000;
  if (*millis > kMaxMillis) {
    return FailureOf(field.name, "walpost has no time after the year 294247");
  }
  encoded.timestamp = WallTime(std::chrono::milliseconds(*millis));
  return absl::OkStatus();
}

absl::Status EventRouter::RoutePartition(const EventField& field,
                                         Encoded& encoded) const {
  if (field.schema->type != Schema::Type::kInt32) {
    return FailureOf(field.name, NotOfType("INT32, as partition"));
  }
  encoded.partition = std::nullopt;
  if (field.is_null) return absl::OkStatus();
  const auto* partition = std::get_if<int32_t>(&field.value);
  if (partition == nullptr) {
    return FailureOf(field.name, NotOfType("INT32, as partition"));
  }
  if (*partition < 0 && options_.runtime == Runtime::kConnect) {
    return FailureOf(field.name,
                     fmt::format("{} is not a partition", *partition));
  }
  encoded.partition = *partition;
  return absl::OkStatus();
}

absl::Status EventRouter::RouteTopic(const EventField& field,
                                     Encoded& encoded) const {
  if (field.schema->type != Schema::Type::kString) {
    return FailureOf(field.name, NotOfType("STRING, for the topic"));
  }
  if (field.is_null) {
    return FailureOf(field.name, "it is NULL, and the topic needs it");
  }
  encoded.route = std::get<std::string_view>(field.value);
  return absl::OkStatus();
}

absl::Status EventRouter::AddHeader(std::string_view name,
                                    const EventField& field) {
  const TypedValue value = {field.schema.get(), &field.value,
                            field.schema_json};
  Encoded::Header header;
  header.name = name;
  const absl::Status status = header_converter_.Convert(
      value, header_buffers_[headers_.size()], header.value);
  if (!status.ok()) {
    return FailureOf(field.name, fmt::format("as header, {}",
                                             std::string(status.message())));
  }
  // Debezium Server leaves it out.
  if (!header.value && options_.runtime == Runtime::kServer) {
    return absl::OkStatus();
  }
  headers_.push_back(header);
  return absl::OkStatus();
}

absl::Status EventRouter::AddHeaders(const OutboxEvent& event,
                                     Encoded& encoded) {
  headers_.clear();
  if (event.old_key != nullptr) {
    WALPOST_RETURN_IF_ERROR(AddHeader(kOldKeyHeader, *event.old_key));
  }
  if (event.id != nullptr) {
    WALPOST_RETURN_IF_ERROR(AddHeader("id", *event.id));
  }
  for (size_t i = 0; i < options_.placements.size(); ++i) {
    const EventField* field = event.placements[i];
    if (field == nullptr) continue;
    const Placement& placement = options_.placements[i];
    switch (placement.place) {
      case Placement::Place::kHeader:
        WALPOST_RETURN_IF_ERROR(AddHeader(NameOf(placement), *field));
        break;
      case Placement::Place::kPartition:
        WALPOST_RETURN_IF_ERROR(RoutePartition(*field, encoded));
        break;
      case Placement::Place::kEnvelope:
        break;
    }
  }
  encoded.headers = headers_;
  return absl::OkStatus();
}

absl::Status EventRouter::ConvertKey(const EventField& field,
                                     Encoded& encoded) {
  const TypedValue key = {field.schema.get(), &field.value, field.schema_json};
  const absl::Status status =
      key_converter_.Convert(key, key_buffer_, encoded.key);
  if (status.ok()) return status;
  return FailureOf(field.name,
                   fmt::format("as key, {}", std::string(status.message())));
}

void EventRouter::Expand(const EventField& field, TextArena& arena,
                         Payload& payload) {
  const auto* text = std::get_if<std::string_view>(&field.value);
  if (text == nullptr) return;
  JsonExpansion::Result result = expansion_.Expand(*text, field.name, arena);
  if (result.outcome == JsonExpansion::Result::Outcome::kNotInferred) return;
  static const auto& not_known = *new std::string();
  payload.schema = std::move(result.schema);
  payload.schema_json = &not_known;
  payload.failure = std::move(result.failure);
  if (result.outcome == JsonExpansion::Result::Outcome::kExpanded) {
    payload.expanded = std::move(result.value);
    payload.value = &payload.expanded;
  }
}

absl::Status EventRouter::ConvertPayload(const OutboxEvent& event,
                                         const Payload& payload,
                                         Encoded& encoded) {
  const TypedValue value = {payload.schema.get(), payload.value,
                            *payload.schema_json};
  const absl::Status status =
      value_converter_.Convert(value, value_buffer_, encoded.value);
  if (status.ok()) return absl::OkStatus();
  if (!payload.failure.ok()) {
    return FailureOf(
        event.payload->name,
        fmt::format("it cannot be expanded: {}: set expand_json: false, or "
                    "correct the payload",
                    std::string(payload.failure.message())));
  }
  return FailureOf(event.payload->name,
                   fmt::format("as value, {}", std::string(status.message())));
}

absl::Status EventRouter::VersionOf(const OutboxEvent& event,
                                    std::optional<int32_t>& version) const {
  if (event.version == nullptr) return absl::OkStatus();
  if (event.version->schema->type != Schema::Type::kInt32) {
    return FailureOf(event.version->name,
                     NotOfType("INT32, as version of the schema"));
  }
  if (event.version->is_null) return absl::OkStatus();
  const auto* number = std::get_if<int32_t>(&event.version->value);
  if (number == nullptr) {
    return FailureOf(event.version->name,
                     NotOfType("INT32, as version of the schema"));
  }
  version = *number;
  return absl::OkStatus();
}

EventRouter::EnvelopeSchema EventRouter::MakeEnvelopeSchema(
    const OutboxEvent& event, const Payload& payload,
    std::optional<int32_t> version, bool is_kept) const {
  auto schema = std::make_shared<Schema>(PlainSchema(Schema::Type::kStruct));
  schema->name = event.schema_prefix;
  if (event.route != nullptr) {
    schema->name += std::get<std::string_view>(event.route->value);
  }
  schema->name += event.schema_suffix;
  schema->version = version;
  schema->fields.push_back({std::string(kPayloadMember), payload.schema});
  for (size_t i = 0; i < options_.placements.size(); ++i) {
    const EventField* field = event.placements[i];
    if (field == nullptr || !IsEnvelope(options_.placements[i])) continue;
    schema->fields.push_back(
        {std::string(NameOf(options_.placements[i])), field->schema});
  }
  EnvelopeSchema made;
  if (is_kept) made.schema_json = value_converter_.SchemaJson(*schema);
  made.schema = std::move(schema);
  return made;
}

const EventRouter::EnvelopeSchema& EventRouter::EnvelopeSchemaOf(
    const OutboxEvent& event, const Payload& payload,
    std::optional<int32_t> version) {
  if (!event.has_fixed_schemas || payload.schema != event.payload->schema) {
    expanded_schema_ = MakeEnvelopeSchema(event, payload, version, false);
    return expanded_schema_;
  }
  std::string key = version ? fmt::format("{} ", *version) : std::string();
  if (event.route != nullptr) {
    key += std::get<std::string_view>(event.route->value);
  }
  const auto found = envelope_schemas_.find(key);
  if (found != envelope_schemas_.end()) return found->second;
  if (envelope_schemas_.size() == kMaxEnvelopeSchemas) {
    envelope_schemas_.clear();
  }
  return envelope_schemas_
      .emplace(std::move(key),
               MakeEnvelopeSchema(event, payload, version, true))
      .first->second;
}

absl::Status EventRouter::FillEnvelope(const OutboxEvent& event,
                                       const Payload& payload) {
  if (payload.schema == nullptr) {
    return FailureOf(event.payload->name,
                     "an empty JSON array has no schema for the envelope: set "
                     "expand_json: false");
  }
  if (!payload.failure.ok()) {
    return FailureOf(
        event.payload->name,
        fmt::format("it cannot be expanded: {}: set expand_json: false, or "
                    "correct the payload",
                    std::string(payload.failure.message())));
  }
  Struct* envelope = std::get_if<Struct>(&envelope_);
  if (envelope == nullptr) envelope = &envelope_.emplace<Struct>();
  envelope->values.clear();
  const auto put = [&](const EventField& field, const Schema& schema,
                       const Value& value) {
    envelope->values.push_back(value);
    const absl::Status status = CheckValue(schema, value);
    return status.ok() ? status : FailureOf(field.name, status);
  };
  WALPOST_RETURN_IF_ERROR(put(*event.payload, *payload.schema, *payload.value));
  for (size_t i = 0; i < options_.placements.size(); ++i) {
    const EventField* field = event.placements[i];
    if (field == nullptr || !IsEnvelope(options_.placements[i])) continue;
    WALPOST_RETURN_IF_ERROR(put(*field, *field->schema, field->value));
  }
  return absl::OkStatus();
}

absl::Status EventRouter::ConvertEnvelope(const OutboxEvent& event,
                                          const Payload& payload,
                                          std::optional<int32_t> version,
                                          Encoded& encoded) {
  const EnvelopeSchema& schema = EnvelopeSchemaOf(event, payload, version);
  std::get<Struct>(envelope_).schema = schema.schema;
  const TypedValue value = {schema.schema.get(), &envelope_,
                            schema.schema_json};
  const absl::Status status =
      value_converter_.Convert(value, value_buffer_, encoded.value);
  if (status.ok()) return absl::OkStatus();
  return FailureOf(
      event.payload->name,
      fmt::format("in the envelope, {}", std::string(status.message())));
}

}  // namespace walpost::debezium
