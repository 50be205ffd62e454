// The values of ColumnType that have parts: maps, structs and arrays.
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "debezium/array_text.h"
#include "debezium/column_type.h"
#include "debezium/hstore_text.h"
#include "debezium/json_string.h"
#include "debezium/not_a.h"

namespace walpost::debezium {

absl::Status ColumnType::ReadHstore(std::string_view text, TextArena& arena,
                                    Value& value) const {
  WALPOST_ASSIGN_OR_RETURN(const HstoreEntries entries,
                           ParseHstore(text, arena));
  if (options_.hstore == HstoreMode::kMap) {
    Map map;
    for (const auto& [key, entry] : entries) {
      map.entries.emplace_back(key, entry ? Value(*entry) : Value());
    }
    value = std::move(map);
    return absl::OkStatus();
  }
  std::string json = "{";
  for (const auto& [key, entry] : entries) {
    if (json.size() > 1) json += ',';
    AppendJsonString(key, Supplementary::kRaw, json);
    json += ':';
    if (entry) {
      AppendJsonString(*entry, Supplementary::kRaw, json);
    } else {
      json += "null";
    }
  }
  json += '}';
  value = arena.Copy(json);
  return absl::OkStatus();
}

absl::Status ColumnType::ReadGeometric(std::string_view text, TextArena& arena,
                                       Value& value) const {
  const std::optional<std::vector<double>> numbers = ParseNumbers(text);
  if (!numbers) return NotA("geometric value", text);
  const bool is_line = kind_ == Kind::kLine;
  const bool is_circle = kind_ == Kind::kCircle;
  const size_t size = is_line || is_circle ? 3 : 2;
  const bool is_whole = kind_ == Kind::kShape ? numbers->size() % 2 == 0
                                              : numbers->size() == size;
  if (!is_whole) return NotA("geometric value", text);
  Struct made;
  made.schema = schema_;
  if (is_line) {
    for (const double number : *numbers) made.values.emplace_back(number);
  } else if (kind_ == Kind::kShape) {
    std::vector<Point> points;
    for (size_t i = 0; i < numbers->size(); i += 2) {
      points.push_back({(*numbers)[i], (*numbers)[i + 1]});
    }
    Map extensions;
    extensions.entries.emplace_back("type", ToString(shape_));
    if (shape_ == Shape::kPath) {
      const std::string_view closed = text.starts_with('(') ? "true" : "false";
      extensions.entries.emplace_back("closed", closed);
    }
    made.values = {Value(Bytes{arena.Copy(ShapeWkb(shape_, points))}), Value(),
                   Value(std::move(extensions))};
  } else {
    const Point point = {(*numbers)[0], (*numbers)[1]};
    made.values = {Value(point.x), Value(point.y),
                   Value(Bytes{arena.Copy(PointWkb(point))}), Value()};
  }
  if (is_circle) {
    made.schema = schema_->fields[0].schema;
    Struct circle;
    circle.schema = schema_;
    circle.values = {Value(std::move(made)), Value((*numbers)[2])};
    value = std::move(circle);
  } else {
    value = std::move(made);
  }
  return absl::OkStatus();
}

// Debezium logs what it cannot convert.
void ColumnType::ReadGeometry(std::string_view text, TextArena& arena,
                              Value& value) const {
  const std::optional<PostgisGeometry> geometry = ParseGeometry(text);
  if (!geometry) return;
  Struct made;
  made.schema = schema_;
  made.values.resize(schema_->fields.size());  // a geometry has extensions, too
  made.values[0] = Bytes{arena.Copy(geometry->bytes)};
  if (geometry->srid) made.values[1] = *geometry->srid;
  value = std::move(made);
}

absl::Status ColumnType::ReadVector(std::string_view text, Value& value) const {
  List list;
  if (kind_ == Kind::kVector) {
    const std::optional<std::vector<double>> numbers = ParseNumbers(text);
    if (!numbers) return NotA("vector", text);
    for (const double number : *numbers) list.elements.emplace_back(number);
  } else {
    const std::optional<std::vector<float>> numbers = ParseFloats(text);
    if (!numbers) return NotA("halfvec", text);
    for (const float number : *numbers) list.elements.emplace_back(number);
  }
  value = std::move(list);
  return absl::OkStatus();
}

absl::Status ColumnType::ReadArray(std::string_view text, TextArena& arena,
                                   Value& value) const {
  ArrayText array;
  WALPOST_RETURN_IF_ERROR(ParseArray(text, arena, array));
  if (array.is_nested) return ReadNestedArray(array.elements.size(), value);
  const bool may_have_null = element_->schema()->is_optional;
  // Debezium logs these, and has no array then.
  const bool is_refused_whole =
      element_->kind_ == Kind::kNumeric || element_->kind_ == Kind::kTimetz;
  List list;
  list.elements.resize(array.elements.size());
  for (size_t i = 0; i < array.elements.size(); ++i) {
    const Text& element = array.elements[i];
    Value& converted = list.elements[i];
    if (element) {
      WALPOST_RETURN_IF_ERROR(element_->Read(element, arena, converted));
    }
    if (converted.is_null() &&
        (!may_have_null || (element && is_refused_whole))) {
      return absl::OkStatus();
    }
  }
  value = std::move(list);
  return absl::OkStatus();
}

// An array of arrays: Debezium converts the inner ones as elements, and has no
// value for an array of Java but the text of its identity.
absl::Status ColumnType::ReadNestedArray(size_t size, Value& value) const {
  if (element_->kind_ == Kind::kText) {
    return absl::InvalidArgumentError(
        "an array of more than one dimension, whose text in Java differs "
        "from run to run");
  }
  if (!element_->schema()->is_optional || element_->kind_ == Kind::kTimetz) {
    return absl::OkStatus();
  }
  List list;
  list.elements.resize(size);
  value = std::move(list);
  return absl::OkStatus();
}

}  // namespace walpost::debezium
