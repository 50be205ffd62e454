#include "debezium/json_expansion.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost::debezium {
namespace {

SchemaRef OptionalOf(Schema::Type type) {
  auto schema = std::make_shared<Schema>(PlainSchema(type));
  schema->is_optional = true;
  return schema;
}

// One schema per type, so that numbers can be compared by identity.
const SchemaRef& OptionalSchema(Schema::Type type) {
  static const auto& schemas = *new std::vector<SchemaRef>([] {
    std::vector<SchemaRef> made;
    for (int i = 0; i <= static_cast<int>(Schema::Type::kStruct); ++i) {
      made.push_back(OptionalOf(static_cast<Schema::Type>(i)));
    }
    return made;
  }());
  return schemas[static_cast<size_t>(type)];
}

bool IsNumber(JsonNode::Kind kind) {
  return kind == JsonNode::Kind::kInt32 || kind == JsonNode::Kind::kInt64 ||
         kind == JsonNode::Kind::kBigInteger || kind == JsonNode::Kind::kDouble;
}

Schema::Type NumberType(JsonNode::Kind kind) {
  if (kind == JsonNode::Kind::kInt32) return Schema::Type::kInt32;
  if (kind == JsonNode::Kind::kInt64) return Schema::Type::kInt64;
  return Schema::Type::kFloat64;
}

SchemaRef OptionalArray(SchemaRef elements) {
  auto schema = std::make_shared<Schema>(PlainSchema(Schema::Type::kArray));
  schema->is_optional = true;
  schema->values = std::move(elements);
  return schema;
}

// Java's String.isBlank, as far as it matters for the name of a member.
bool IsBlank(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return static_cast<uint8_t>(c) <= ' '; });
}

// The first element that is not null; nullptr: there is none. kInvalidArgument:
// elements have different types.
absl::StatusOr<const JsonNode*> SampleOf(const JsonNode& array) {
  const JsonNode* sample = nullptr;
  for (const JsonNode& element : array.elements) {
    if (element.kind == JsonNode::Kind::kNull) continue;
    if (sample == nullptr) sample = &element;
    const bool are_numbers = IsNumber(sample->kind) && IsNumber(element.kind);
    const bool is_same =
        are_numbers ? NumberType(sample->kind) == NumberType(element.kind)
                    : sample->kind == element.kind;
    if (!is_same) {
      return absl::InvalidArgumentError(
          "the elements of an array have different types");
    }
  }
  return sample;
}

// Whether the schema of a field, where objects differ, is replaced by that of a
// later object: null has bytes and an empty array has texts, if they have any.
bool IsReplaced(const Schema& old, const Schema& later) {
  if (old.type == Schema::Type::kBytes) {
    return later.type != Schema::Type::kBytes;
  }
  return old.type == Schema::Type::kArray &&
         later.type == Schema::Type::kArray &&
         old.values->type == Schema::Type::kString;
}

// SchemaUtil.copySchemaBasics leaves out that the schema is optional.
SchemaRef Merge(const std::vector<SchemaRef>& schemas) {
  auto merged = std::make_shared<Schema>(PlainSchema(Schema::Type::kStruct));
  merged->name = schemas.front()->name;
  absl::flat_hash_map<std::string_view, size_t> places;
  for (const SchemaRef& schema : schemas) {
    for (const SchemaField& field : schema->fields) {
      const auto [place, is_new] =
          places.emplace(field.name, merged->fields.size());
      if (is_new) {
        merged->fields.push_back(field);
        continue;
      }
      SchemaRef& old = merged->fields[place->second].schema;
      if (IsReplaced(*old, *field.schema)) old = field.schema;
    }
  }
  return merged;
}

// Finds the members of an object for the fields of a schema, which mostly have
// the same order.
class MemberCursor {
 public:
  explicit MemberCursor(const JsonNode& object) : members_(object.members) {}

  const JsonNode* Find(std::string_view name) {
    for (size_t tries = 0; tries < members_.size(); ++tries) {
      if (at_ == members_.size()) at_ = 0;
      const JsonMember& member = members_[at_++];
      if (member.name == name) return &member.value;
    }
    return nullptr;
  }

 private:
  const std::vector<JsonMember>& members_;
  size_t at_ = 0;
};

absl::StatusOr<Value> ConvertNode(const JsonNode& node,
                                  const SchemaRef& schema);

absl::StatusOr<Value> ConvertObject(const JsonNode& node,
                                    const SchemaRef& schema) {
  if (schema->type != Schema::Type::kStruct) {
    return absl::InvalidArgumentError(
        fmt::format("an object where {} was inferred", ToString(schema->type)));
  }
  Struct converted;
  converted.schema = schema;
  converted.values.resize(schema->fields.size());
  MemberCursor members(node);
  for (size_t i = 0; i < schema->fields.size(); ++i) {
    const SchemaField& field = schema->fields[i];
    const JsonNode* member = members.Find(field.name);
    if (member == nullptr) continue;
    WALPOST_ASSIGN_OR_RETURN(Value value, ConvertNode(*member, field.schema));
    if (const absl::Status status = CheckValue(*field.schema, value);
        !status.ok()) {
      return absl::InvalidArgumentError(fmt::format(
          "member '{}': {}", field.name, std::string(status.message())));
    }
    converted.values[i] = std::move(value);
  }
  return Value(std::move(converted));
}

absl::StatusOr<Value> ConvertArray(const JsonNode& node,
                                   const SchemaRef& schema) {
  List list;
  list.elements.reserve(node.elements.size());
  for (const JsonNode& element : node.elements) {
    if (schema->values == nullptr) {
      return absl::InvalidArgumentError(fmt::format(
          "an array where {} was inferred", ToString(schema->type)));
    }
    WALPOST_ASSIGN_OR_RETURN(Value value, ConvertNode(element, schema->values));
    list.elements.push_back(std::move(value));
  }
  return Value(std::move(list));
}

absl::StatusOr<Value> ConvertNode(const JsonNode& node,
                                  const SchemaRef& schema) {
  switch (node.kind) {
    case JsonNode::Kind::kNull:
      return Value();
    case JsonNode::Kind::kBoolean:
      return Value(node.boolean);
    case JsonNode::Kind::kInt32:
      return Value(static_cast<int32_t>(node.integer));
    case JsonNode::Kind::kInt64:
      return Value(node.integer);
    case JsonNode::Kind::kBigInteger:
      return Value(BigInteger());
    case JsonNode::Kind::kDouble:
      return Value(node.number);
    case JsonNode::Kind::kString:
      return Value(node.text);
    case JsonNode::Kind::kArray:
      return ConvertArray(node, schema);
    case JsonNode::Kind::kObject:
      return ConvertObject(node, schema);
  }
  return Value();
}

}  // namespace

absl::StatusOr<SchemaRef> JsonExpansion::Infer(std::string_view name,
                                               const JsonNode& node) const {
  switch (node.kind) {
    case JsonNode::Kind::kNull:
      if (nulls_ == JsonNulls::kIgnore) return SchemaRef();
      return OptionalSchema(Schema::Type::kBytes);
    case JsonNode::Kind::kBoolean:
      return OptionalSchema(Schema::Type::kBoolean);
    case JsonNode::Kind::kInt32:
    case JsonNode::Kind::kInt64:
    case JsonNode::Kind::kBigInteger:
    case JsonNode::Kind::kDouble:
      return OptionalSchema(NumberType(node.kind));
    case JsonNode::Kind::kString:
      return OptionalSchema(Schema::Type::kString);
    case JsonNode::Kind::kArray: {
      if (node.elements.empty()) {
        if (empty_arrays_ == JsonEmptyArrays::kIgnore) return SchemaRef();
        return OptionalArray(OptionalSchema(Schema::Type::kString));
      }
      WALPOST_ASSIGN_OR_RETURN(SchemaRef elements, InferElements(name, node));
      return OptionalArray(std::move(elements));
    }
    case JsonNode::Kind::kObject:
      return InferObject(name, node);
  }
  return SchemaRef();
}

absl::StatusOr<SchemaRef> JsonExpansion::InferObject(
    std::string_view name, const JsonNode& node) const {
  auto schema = std::make_shared<Schema>(PlainSchema(Schema::Type::kStruct));
  schema->is_optional = true;
  schema->name = name;
  const std::string prefix = IsBlank(name) ? "" : std::string(name) + ".";
  for (const JsonMember& member : node.members) {
    WALPOST_ASSIGN_OR_RETURN(
        SchemaRef inferred,
        Infer(prefix + std::string(member.name), member.value));
    if (inferred == nullptr) continue;
    if (member.name.empty()) {
      return absl::InvalidArgumentError("a member has an empty name");
    }
    schema->fields.push_back({std::string(member.name), std::move(inferred)});
  }
  return schema;
}

absl::StatusOr<SchemaRef> JsonExpansion::InferElements(
    std::string_view name, const JsonNode& array) const {
  WALPOST_ASSIGN_OR_RETURN(const JsonNode* sample, SampleOf(array));
  static const JsonNode kNullNode;
  if (sample == nullptr) sample = &kNullNode;
  if (sample->kind == JsonNode::Kind::kObject) return InferObjects(name, array);
  // The path of elements that are no objects is not known to Debezium.
  WALPOST_ASSIGN_OR_RETURN(SchemaRef schema, Infer("", *sample));
  if (schema == nullptr) {
    return absl::InvalidArgumentError(
        "the type of an array's elements is not known");
  }
  return schema;
}

absl::StatusOr<SchemaRef> JsonExpansion::InferObjects(
    std::string_view name, const JsonNode& array) const {
  std::vector<SchemaRef> distinct;
  for (const JsonNode& element : array.elements) {
    if (element.kind != JsonNode::Kind::kObject) continue;
    WALPOST_ASSIGN_OR_RETURN(SchemaRef schema, InferObject(name, element));
    const bool is_known = std::ranges::any_of(
        distinct, [&](const SchemaRef& known) { return *known == *schema; });
    if (!is_known) distinct.push_back(std::move(schema));
  }
  return distinct.size() == 1 ? distinct.front() : Merge(distinct);
}

absl::StatusOr<Value> JsonExpansion::Convert(const JsonNode& node,
                                             const SchemaRef& schema) {
  return ConvertObject(node, schema);
}

JsonExpansion::Result JsonExpansion::Expand(std::string_view text,
                                            std::string_view name,
                                            TextArena& arena) const {
  Result result;
  if (!text.starts_with('{') && !text.starts_with('[')) {
    result.failure =
        absl::InvalidArgumentError("neither an object nor an array");
    return result;
  }
  const absl::StatusOr<JsonNode> root = ParseJson(text, arena);
  if (!root.ok()) {
    result.failure = root.status();
    return result;
  }
  absl::StatusOr<SchemaRef> schema = Infer(name, *root);
  if (!schema.ok()) {
    result.failure = schema.status();
    return result;
  }
  result.schema = *std::move(schema);
  result.outcome = Result::Outcome::kNotConverted;
  if (result.schema == nullptr) {
    result.failure = absl::InvalidArgumentError("an empty array has no schema");
    return result;
  }
  absl::StatusOr<Value> value = Convert(*root, result.schema);
  if (!value.ok()) {
    result.failure = value.status();
    return result;
  }
  result.outcome = Result::Outcome::kExpanded;
  result.value = *std::move(value);
  return result;
}

}  // namespace walpost::debezium
