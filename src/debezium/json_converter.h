// JsonConverter: org.apache.kafka.connect.json.JsonConverter, to bytes.
//
//   {"schema":{"type":"string","optional":false},"payload":"42"}
//
// or, without schemas, "42" alone. Members of a schema come in the order of
// Kafka Connect: type, items or fields, optional, name, version, doc,
// parameters, default, field.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "debezium/connect_schema.h"
#include "debezium/connect_value.h"
#include "debezium/options.h"

namespace walpost::debezium {

// Jackson writes no deeper nesting of objects and arrays.
inline constexpr int kMaxJsonDepth = 1'000;

class JsonConverter {
 public:
  enum class Schemas { kLeftOut, kWritten };

  JsonConverter(Schemas schemas, JsonDecimals decimals, bool replaces_null)
      : schemas_(schemas), decimals_(decimals), replaces_null_(replaces_null) {}

  // kInvalidArgument: the converter does not accept the value; says why.
  absl::Status Append(const TypedValue& value, std::string& out) const;

  // `field`: the name of the struct's member; nullptr: none.
  absl::Status AppendSchema(const Schema& schema, const std::string* field,
                            std::string& out) const {
    return AppendSchemaAt(schema, field, 1, out);
  }

 private:
  absl::Status AppendSchemaAt(const Schema& schema, const std::string* field,
                              int depth, std::string& out) const;
  absl::Status AppendValue(const Schema& schema, const Value& value, int depth,
                           std::string& out) const;
  absl::Status AppendOfType(const Schema& schema, const Value& value, int depth,
                            std::string& out) const;

  Schemas schemas_;
  JsonDecimals decimals_;
  bool replaces_null_;
};

}  // namespace walpost::debezium
