// Value: a Java object in a record of Kafka Connect.
//
// Texts are views: of the row, of its TextArena, or of the schema's default.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "debezium/connect_schema.h"
#include "debezium/decimal.h"

namespace walpost::debezium {

struct Bytes {
  std::string_view bytes;
};
struct JavaDate {
  int64_t millis = 0;  // since 1970-01-01 00:00 UTC
};
// A JSON integer beyond 64 bits, which fits no schema.
struct BigInteger {};

struct List {
  std::vector<Value> elements;
};
struct Map {
  std::vector<std::pair<std::string_view, Value>> entries;
};
struct Struct {
  SchemaRef schema;
  std::vector<Value> values;  // one per field of the schema
};

struct Value : std::variant<std::monostate, bool, int16_t, int32_t, int64_t,
                            float, double, std::string_view, Bytes, JavaDate,
                            Decimal, BigInteger, List, Map, Struct> {
  using variant::variant;

  bool is_null() const { return index() == 0; }
};

// A value and its schema; nullptr: none, as for the empty JSON array.
struct TypedValue {
  const Schema* schema = nullptr;
  const Value* value = nullptr;
  std::string_view schema_json = {};  // of the JsonConverter; empty: not known
};

// Whether a struct with a field of the schema accepts the value
// (ConnectSchema.validateValue). kInvalidArgument: names both types.
absl::Status CheckValue(const Schema& schema, const Value& value);

// Object.toString of the value, in UTF-8. kInvalidArgument: Java's text differs
// from run to run.
absl::Status AppendJavaText(const Value& value, std::string& out);

// True if the text has a surrogate without its partner (three bytes, as CESU-8
// has them), which only an escape in JSON can bring.
bool HasLoneSurrogate(std::string_view text);
// The text as Java encodes it in UTF-8: '?' for each of them.
void AppendUtf8(std::string_view text, std::string& out);

}  // namespace walpost::debezium
