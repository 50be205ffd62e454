// EventRouter: the fields of one event -> the parts of its record, in the steps
// of Debezium's outbox event router: timestamp, header id, expansion of the
// payload, envelope and further headers, tombstone, key.
//
// Where its fields come from, a row or a message, is not known here. Owned by
// an encoder. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "debezium/connect_value.h"
#include "debezium/json_expansion.h"
#include "debezium/options.h"
#include "debezium/record_converter.h"
#include "debezium/row_encoder.h"
#include "debezium/text_arena.h"

namespace walpost::debezium {

// A column of the row, or a member of the message.
struct EventField {
  std::string_view name;
  SchemaRef schema;
  std::string schema_json;  // RecordConverter::SchemaJson; empty: not known
  Value value;              // the column's default instead of NULL
  bool is_null = false;     // even if the column has a default
};

struct OutboxEvent {
  const EventField* id = nullptr;  // nullptr: no header
  const EventField* key = nullptr;
  const EventField* payload = nullptr;  // always there
  const EventField* route = nullptr;
  const EventField* timestamp = nullptr;
  const EventField* version = nullptr;
  const EventField* old_key = nullptr;
  // One per placement of the options; nullptr: it is left out.
  std::span<const EventField* const> placements;
  // Name of the envelope's schema before and after the value of the route.
  std::string_view schema_prefix;
  std::string_view schema_suffix;
  // The fields of every event have the schemas of this one: a table's rows.
  bool has_fixed_schemas = false;
};

class EventRouter {
 public:
  // `field_kind`: column or member, for messages.
  EventRouter(const Options& options, std::string_view field_kind);

  // kFailedPrecondition: two members of the envelope have one name.
  static absl::Status CheckPlacements(const Options& options);

  bool has_envelope() const { return has_envelope_; }

  // The schema of a field, as far as a converter writes it.
  std::string SchemaJson(const Schema& schema) const;

  // kInvalidArgument: Debezium's task fails; with a reason code. Views are
  // valid until the next Route, and as long as the fields and the arena.
  absl::Status Route(const OutboxEvent& event, TextArena& arena,
                     Encoded& encoded);

  // The error of a field, with the reason code.
  absl::Status FailureOf(std::string_view field, std::string_view cause) const;
  absl::Status FailureOf(std::string_view field,
                         const absl::Status& cause) const {
    return FailureOf(field, std::string(cause.message()));
  }

 private:
  struct Payload {
    SchemaRef schema;
    const std::string* schema_json = nullptr;
    const Value* value = nullptr;
    Value expanded;  // what `value` points to after the expansion
    absl::Status
        failure;  // of the expansion, if the text does not fit `schema`
  };
  struct EnvelopeSchema {
    SchemaRef schema;
    std::string schema_json;
  };

  absl::Status RouteTimestamp(const EventField& field, Encoded& encoded) const;
  absl::Status RoutePartition(const EventField& field, Encoded& encoded) const;
  absl::Status RouteTopic(const EventField& field, Encoded& encoded) const;
  absl::Status AddHeader(std::string_view name, const EventField& field);
  absl::Status AddHeaders(const OutboxEvent& event, Encoded& encoded);
  void Expand(const EventField& field, TextArena& arena, Payload& payload);
  absl::Status ConvertPayload(const OutboxEvent& event, const Payload& payload,
                              Encoded& encoded);
  absl::Status ConvertEnvelope(const OutboxEvent& event, const Payload& payload,
                               std::optional<int32_t> version,
                               Encoded& encoded);
  absl::Status ConvertKey(const EventField& field, Encoded& encoded);
  absl::Status FillEnvelope(const OutboxEvent& event, const Payload& payload);
  absl::Status VersionOf(const OutboxEvent& event,
                         std::optional<int32_t>& version) const;
  EnvelopeSchema MakeEnvelopeSchema(const OutboxEvent& event,
                                    const Payload& payload,
                                    std::optional<int32_t> version,
                                    bool is_kept) const;
  const EnvelopeSchema& EnvelopeSchemaOf(const OutboxEvent& event,
                                         const Payload& payload,
                                         std::optional<int32_t> version);

  const Options options_;
  const std::string field_kind_;
  const bool has_envelope_;
  const RecordConverter key_converter_;
  const RecordConverter value_converter_;
  const RecordConverter header_converter_;
  const JsonExpansion expansion_;

  std::string key_buffer_;
  std::string value_buffer_;
  std::vector<std::string> header_buffers_;  // one per header of the record
  std::vector<Encoded::Header> headers_;
  Value envelope_;
  // By name and version, for rows whose payload is not expanded.
  absl::flat_hash_map<std::string, EnvelopeSchema> envelope_schemas_;
  EnvelopeSchema expanded_schema_;  // of the current event
};

}  // namespace walpost::debezium
