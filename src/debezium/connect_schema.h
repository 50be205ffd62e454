// Schema: org.apache.kafka.connect.data.Schema, as far as Debezium's Postgres
// connector uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace walpost::debezium {

struct Schema;
struct Value;

// Shared: the schema of an array's elements is merged from those of single
// elements, and the schema of an envelope has those of the columns.
using SchemaRef = std::shared_ptr<const Schema>;

struct SchemaField {
  std::string name;
  SchemaRef schema;
};

struct Schema {
  enum class Type {
    kInt16,
    kInt32,
    kInt64,
    kFloat32,
    kFloat64,
    kBoolean,
    kString,
    kBytes,
    kArray,
    kMap,
    kStruct,
  };

  Type type = Type::kString;
  bool is_optional = false;
  std::string name;  // of the logical type; empty: none
  std::optional<int32_t> version;
  std::string doc;  // empty: none
  std::vector<std::pair<std::string, std::string>> parameters;
  std::shared_ptr<const Value> default_value;  // nullptr: none
  std::vector<SchemaField> fields;             // of a struct
  SchemaRef keys;                              // of a map
  SchemaRef values;                            // of an array or a map
};

// As Java compares them, but for default values, which are compared by
// identity.
bool operator==(const Schema& left, const Schema& right);

// Upper case, as in the messages of Kafka Connect.
std::string_view ToString(Schema::Type type);

// Without a name.
Schema PlainSchema(Schema::Type type);
// With a name and version 1.
Schema LogicalSchema(Schema::Type type, std::string_view name);

// Names of logical types whose values are not those of their type.
inline constexpr std::string_view kDecimalName =
    "org.apache.kafka.connect.data.Decimal";
inline constexpr std::string_view kConnectDateName =
    "org.apache.kafka.connect.data.Date";
inline constexpr std::string_view kConnectTimeName =
    "org.apache.kafka.connect.data.Time";
inline constexpr std::string_view kConnectTimestampName =
    "org.apache.kafka.connect.data.Timestamp";

}  // namespace walpost::debezium
