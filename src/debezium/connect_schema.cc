#include "debezium/connect_schema.h"

#include <algorithm>

namespace walpost::debezium {
namespace {

bool SameSchema(const SchemaRef& left, const SchemaRef& right) {
  if (left == right) return true;
  return left != nullptr && right != nullptr && *left == *right;
}

}  // namespace

bool operator==(const Schema& left, const Schema& right) {
  if (&left == &right) return true;
  return left.type == right.type && left.is_optional == right.is_optional &&
         left.name == right.name && left.version == right.version &&
         left.doc == right.doc && left.parameters == right.parameters &&
         left.default_value == right.default_value &&
         SameSchema(left.keys, right.keys) &&
         SameSchema(left.values, right.values) &&
         std::ranges::equal(left.fields, right.fields,
                            [](const SchemaField& a, const SchemaField& b) {
                              return a.name == b.name &&
                                     SameSchema(a.schema, b.schema);
                            });
}

std::string_view ToString(Schema::Type type) {
  switch (type) {
    case Schema::Type::kInt16:
      return "INT16";
    case Schema::Type::kInt32:
      return "INT32";
    case Schema::Type::kInt64:
      return "INT64";
    case Schema::Type::kFloat32:
      return "FLOAT32";
    case Schema::Type::kFloat64:
      return "FLOAT64";
    case Schema::Type::kBoolean:
      return "BOOLEAN";
    case Schema::Type::kString:
      return "STRING";
    case Schema::Type::kBytes:
      return "BYTES";
    case Schema::Type::kArray:
      return "ARRAY";
    case Schema::Type::kMap:
      return "MAP";
    case Schema::Type::kStruct:
      return "STRUCT";
  }
  return "";
}

Schema PlainSchema(Schema::Type type) {
  Schema schema;
  schema.type = type;
  return schema;
}

Schema LogicalSchema(Schema::Type type, std::string_view name) {
  Schema schema = PlainSchema(type);
  schema.name = name;
  schema.version = 1;
  return schema;
}

}  // namespace walpost::debezium
