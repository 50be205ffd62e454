// JsonExpansion: a JSON text -> a value of Kafka Connect and its schema, as
// Debezium's JsonSchemaData infers them (table.expand.json.payload).
//
//   {"id":1,"tags":["a"]}  ──▶  Struct{id: INT32?, tags: ARRAY?[STRING?]}
//
// First the schema is inferred, then the value is converted to it. The second
// step fails for texts that pass the first: the elements of an array of arrays
// have the type of the first one, an integer beyond 64 bits has a type that
// cannot hold it, an array is not a struct.
//
// Objects in an array that differ have a merged schema. Java's order of its
// fields changes from run to run, and so does the type of a field that has two;
// here they have the order in which they first appear, and of two types the
// first one stays, unless it is that of null or of an empty array.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "debezium/connect_schema.h"
#include "debezium/connect_value.h"
#include "debezium/json_document.h"
#include "debezium/options.h"
#include "debezium/text_arena.h"

namespace walpost::debezium {

class JsonExpansion {
 public:
  JsonExpansion(JsonNulls nulls, JsonEmptyArrays empty_arrays)
      : nulls_(nulls), empty_arrays_(empty_arrays) {}

  // What the event router has after the expansion.
  struct Result {
    // The text stays, and so does its schema (inference), or it has the
    // inferred one, which does not fit it (conversion).
    enum class Outcome { kExpanded, kNotInferred, kNotConverted };
    Outcome outcome = Outcome::kNotInferred;
    SchemaRef schema;      // nullptr with kNotConverted: none, of the text []
    Value value;           // kExpanded
    absl::Status failure;  // of the others
  };
  // `name`: that of the schema. The value is valid as long as the arena.
  Result Expand(std::string_view text, std::string_view name,
                TextArena& arena) const;

  // The schema of a node; nullptr: the node is left out. kInvalidArgument: its
  // elements have more than one type, or a member has no name.
  absl::StatusOr<SchemaRef> Infer(std::string_view name,
                                  const JsonNode& node) const;

  // The value of an object. kInvalidArgument: it does not fit the schema.
  static absl::StatusOr<Value> Convert(const JsonNode& node,
                                       const SchemaRef& schema);

 private:
  absl::StatusOr<SchemaRef> InferObject(std::string_view name,
                                        const JsonNode& node) const;
  absl::StatusOr<SchemaRef> InferElements(std::string_view name,
                                          const JsonNode& array) const;
  absl::StatusOr<SchemaRef> InferObjects(std::string_view name,
                                         const JsonNode& array) const;

  JsonNulls nulls_;
  JsonEmptyArrays empty_arrays_;
};

}  // namespace walpost::debezium
