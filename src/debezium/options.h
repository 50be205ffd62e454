// Configuration of the profile `debezium`: records as Debezium's Postgres
// connector, its outbox event router and the converters of Kafka Connect make
// them. Keys and defaults are documented in docs/configuration.md (records.*).
#pragma once

#include <string>
#include <vector>

#include "base/choices.h"

namespace walpost::debezium {

// What makes bytes of a key or a value.
enum class Converter {
  kString,              // org.apache.kafka.connect.storage.StringConverter
  kJson,                // JsonConverter, schemas.enable=false
  kJsonSchemas,         // JsonConverter, schemas.enable=true
  kBytes,               // ByteArrayConverter; BinaryDataConverter on its own
  kBytesOrString,       // BinaryDataConverter, with a delegate
  kBytesOrJson,         // likewise
  kBytesOrJsonSchemas,  // likewise
};
inline constexpr Choices<Converter, 7> kConverters = {{
    {"string", Converter::kString},
    {"json", Converter::kJson},
    {"json_schemas", Converter::kJsonSchemas},
    {"bytes", Converter::kBytes},
    {"bytes_or_string", Converter::kBytesOrString},
    {"bytes_or_json", Converter::kBytesOrJson},
    {"bytes_or_json_schemas", Converter::kBytesOrJsonSchemas},
}};

enum class HeaderConverter { kSimple, kString, kJson, kJsonSchemas };
inline constexpr Choices<HeaderConverter, 4> kHeaderConverters = {{
    {"simple", HeaderConverter::kSimple},
    {"string", HeaderConverter::kString},
    {"json", HeaderConverter::kJson},
    {"json_schemas", HeaderConverter::kJsonSchemas},
}};

// Which headers of the context a record of the stream has, named after the
// first release of Debezium that writes them.
enum class ContextHeaders { kNone, kSince32, kSince34 };
inline constexpr Choices<ContextHeaders, 3> kContextHeaders = {{
    {"none", ContextHeaders::kNone},
    {"3.2", ContextHeaders::kSince32},  // without the id of the run
    {"3.4", ContextHeaders::kSince34},
}};

// What wrote the records until now: Debezium Server ignores the partition and
// the timestamp of a record, and drops headers that are null.
enum class Runtime { kConnect, kServer };
inline constexpr Choices<Runtime, 2> kRuntimes = {{
    {"connect", Runtime::kConnect},
    {"server", Runtime::kServer},
}};

enum class BinaryMode { kBytes, kBase64, kBase64UrlSafe, kHex };
inline constexpr Choices<BinaryMode, 4> kBinaryModes = {{
    {"bytes", BinaryMode::kBytes},
    {"base64", BinaryMode::kBase64},
    {"base64-url-safe", BinaryMode::kBase64UrlSafe},
    {"hex", BinaryMode::kHex},
}};

enum class DecimalMode { kPrecise, kString, kDouble };
inline constexpr Choices<DecimalMode, 3> kDecimalModes = {{
    {"precise", DecimalMode::kPrecise},
    {"string", DecimalMode::kString},
    {"double", DecimalMode::kDouble},
}};

enum class TimePrecision {
  kAdaptive,
  kAdaptiveTimeMicroseconds,
  kMicroseconds,
  kNanoseconds,
  kConnect,
  kIsoString,
};
inline constexpr Choices<TimePrecision, 6> kTimePrecisions = {{
    {"adaptive", TimePrecision::kAdaptive},
    {"adaptive_time_microseconds", TimePrecision::kAdaptiveTimeMicroseconds},
    {"microseconds", TimePrecision::kMicroseconds},
    {"nanoseconds", TimePrecision::kNanoseconds},
    {"connect", TimePrecision::kConnect},
    {"isostring", TimePrecision::kIsoString},
}};

enum class IntervalMode { kNumeric, kString };
inline constexpr Choices<IntervalMode, 2> kIntervalModes = {{
    {"numeric", IntervalMode::kNumeric},
    {"string", IntervalMode::kString},
}};

enum class HstoreMode { kJson, kMap };
inline constexpr Choices<HstoreMode, 2> kHstoreModes = {{
    {"json", HstoreMode::kJson},
    {"map", HstoreMode::kMap},
}};

// JSON members that are null, when a payload is expanded.
enum class JsonNulls { kIgnore, kOptionalBytes };
inline constexpr Choices<JsonNulls, 2> kJsonNulls = {{
    {"ignore", JsonNulls::kIgnore},
    {"optional_bytes", JsonNulls::kOptionalBytes},
}};

// Likewise, arrays without an element.
enum class JsonEmptyArrays { kIgnore, kOptionalString };
inline constexpr Choices<JsonEmptyArrays, 2> kJsonEmptyArrays = {{
    {"ignore", JsonEmptyArrays::kIgnore},
    {"optional_string", JsonEmptyArrays::kOptionalString},
}};

// A decimal number in JSON: bytes of its unscaled value, or a number.
enum class JsonDecimals { kBase64, kNumeric };
inline constexpr Choices<JsonDecimals, 2> kJsonDecimals = {{
    {"base64", JsonDecimals::kBase64},
    {"numeric", JsonDecimals::kNumeric},
}};

enum class MissingColumns { kError, kIgnore };
inline constexpr Choices<MissingColumns, 2> kMissingColumns = {{
    {"error", MissingColumns::kError},
    {"ignore", MissingColumns::kIgnore},
}};

// An UPDATE of an outbox row that leaves its primary key as it is.
enum class OnUpdate { kIgnore, kStop };
inline constexpr Choices<OnUpdate, 2> kOnUpdates = {{
    {"ignore", OnUpdate::kIgnore},
    {"stop", OnUpdate::kStop},
}};

// A further column of the row in the record
// (table.fields.additional.placement).
struct Placement {
  enum class Place { kHeader, kEnvelope, kPartition };
  static constexpr Choices<Place, 3> kPlaces = {{
      {"header", Place::kHeader},
      {"envelope", Place::kEnvelope},
      {"partition", Place::kPartition},
  }};
  std::string column;
  Place place = Place::kHeader;
  std::string name;  // of the header or the member; the column's by default

  friend bool operator==(const Placement&, const Placement&) = default;
};

// In place of a large value that an UPDATE does not change
// (unavailable.value.placeholder).
inline constexpr char kUnavailableValue[] = "__debezium_unavailable_value";

// The topic template of a router without route.topic.*.
inline constexpr char kUsualTopic[] =
    "outbox.event.{aggregate_type|allow_empty}";

struct Options {
  // topic.prefix: in a header of the context and in names of schemas.
  std::string logical_name;
  Runtime runtime = Runtime::kConnect;
  ContextHeaders context_headers = ContextHeaders::kSince34;

  Converter key_converter = Converter::kJsonSchemas;
  Converter value_converter = Converter::kJsonSchemas;
  HeaderConverter header_converter = HeaderConverter::kSimple;
  JsonDecimals json_decimals = JsonDecimals::kBase64;
  // A NULL in a column with a constant DEFAULT becomes that constant inside of
  // an envelope, too (the converter's replace.null.with.default).
  bool replace_null_with_default = true;

  BinaryMode binary = BinaryMode::kBytes;
  DecimalMode decimal = DecimalMode::kPrecise;
  TimePrecision time_precision = TimePrecision::kAdaptive;
  IntervalMode interval = IntervalMode::kNumeric;
  HstoreMode hstore = HstoreMode::kJson;
  bool unknown_types = false;  // include.unknown.datatypes

  std::vector<Placement> placements;
  MissingColumns missing_columns = MissingColumns::kError;
  // Column with the version of the envelope's schema; empty: none.
  std::string schema_version;

  bool tombstone_on_empty = false;
  bool expand_json = false;
  JsonNulls json_nulls = JsonNulls::kIgnore;
  JsonEmptyArrays json_empty_arrays = JsonEmptyArrays::kIgnore;
  // Members of a logical message that are null (fields.null.include).
  bool message_nulls = false;

  OnUpdate on_update = OnUpdate::kIgnore;

  friend bool operator==(const Options&, const Options&) = default;
};

}  // namespace walpost::debezium
