// The values of ColumnType that have parts: maps, structs and arrays.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "debezium/column_type.h"
#include "debezium/json_string.h"
#include "debezium/not_a.h"
#include "debezium/row_encoder.h"
#include "debezium/text_arena.h"

namespace walpost::debezium {

namespace {

// The text of an hstore, "a"=>"1", "b"=>NULL, in the order of Java's HashMap,
// in which Debezium writes its entries.
using HstoreEntries = std::vector<std::pair<std::string_view, Text>>;

// String.hashCode of valid UTF-8.
uint32_t JavaHash(std::string_view text) {
  uint32_t hash = 0;
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<uint8_t>(text[i]);
    const size_t length = first < 0x80   ? 1
                          : first < 0xe0 ? 2
                          : first < 0xf0 ? 3
                                         : 4;
    uint32_t point = length == 1 ? first : first & (0xffu >> (length + 1));
    for (size_t k = 1; k < length && i + k < text.size(); ++k) {
      point = point << 6 | (static_cast<uint8_t>(text[i + k]) & 0x3fu);
    }
    if (point >= 0x10000) {
      hash = hash * 31 + (0xd7c0 + (point >> 10));
      point = 0xdc00 + (point & 0x3ff);
    }
    hash = hash * 31 + point;
    i += length;
  }
  return hash;
}

// Entries of one bucket stay in the order in which they were put.
void OrderAsHashMap(HstoreEntries& entries) {
  size_t buckets = 16;
  while (entries.size() > buckets / 4 * 3) buckets *= 2;
  const auto bucket_of = [buckets](std::string_view key) {
    const uint32_t hash = JavaHash(key);
    return (hash ^ hash >> 16) & (buckets - 1);
  };
  std::ranges::stable_sort(
      entries, {}, [&](const auto& entry) { return bucket_of(entry.first); });
}

bool TakeHstoreString(std::string_view& rest, TextArena& arena,
                      std::string_view& taken) {
  if (!rest.starts_with('"')) return false;
  rest.remove_prefix(1);
  char* const decoded = arena.Allocate(rest.size());
  size_t length = 0;
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      taken = {decoded, length};
      return true;
    }
    if (rest[i] == '\\' && ++i == rest.size()) return false;
    decoded[length++] = rest[i];
  }
  return false;
}

bool TakeEntry(std::string_view& rest, TextArena& arena,
               HstoreEntries& entries) {
  std::string_view key;
  if (!TakeHstoreString(rest, arena, key) || !rest.starts_with("=>")) {
    return false;
  }
  rest.remove_prefix(2);
  if (rest.starts_with("NULL")) {
    rest.remove_prefix(4);
    entries.emplace_back(key, std::nullopt);
    return true;
  }
  std::string_view value;
  if (!TakeHstoreString(rest, arena, value)) return false;
  entries.emplace_back(key, value);
  return true;
}

// kInvalidArgument: not an hstore.
absl::StatusOr<HstoreEntries> ParseHstore(std::string_view text,
                                          TextArena& arena) {
  HstoreEntries entries;
  while (!text.empty()) {
    if (!TakeEntry(text, arena, entries)) {
      return absl::InvalidArgumentError("not an hstore");
    }
    if (text.starts_with(", ")) text.remove_prefix(2);
  }
  OrderAsHashMap(entries);
  return entries;
}

// The text of an array as PostgreSQL prints it: {a,NULL,"b c"}.
struct ArrayText {
  std::vector<Text> elements;  // nullopt: NULL
  bool is_nested = false;      // the elements are arrays; their texts are NULL
};

absl::Status NotAnArray() { return absl::InvalidArgumentError("not an array"); }

// Takes the element at the begin of `rest`, without what separates it from the
// next one.
absl::Status TakeQuoted(std::string_view& rest, TextArena& arena,
                        Text& element) {
  rest.remove_prefix(1);
  char* const decoded = arena.Allocate(rest.size());
  size_t length = 0;
  size_t i = 0;
  while (i < rest.size() && rest[i] != '"') {
    if (rest[i] == '\\') ++i;
    if (i == rest.size()) return NotAnArray();
    decoded[length++] = rest[i++];
  }
  if (i == rest.size()) return NotAnArray();
  rest.remove_prefix(i + 1);
  element = std::string_view(decoded, length);
  return absl::OkStatus();
}

void TakeUnquoted(std::string_view& rest, Text& element) {
  const std::string_view text = rest.substr(0, rest.find_first_of(",}"));
  rest.remove_prefix(text.size());
  element = text;
  if (text == "NULL") element = std::nullopt;
}

// Takes an array within an array.
absl::Status SkipNested(std::string_view& rest, TextArena& arena) {
  int depth = 0;
  do {
    if (rest.empty()) return NotAnArray();
    if (rest.starts_with('"')) {
      Text ignored;
      WALPOST_RETURN_IF_ERROR(TakeQuoted(rest, arena, ignored));
      continue;
    }
    if (rest.starts_with('{')) ++depth;
    if (rest.starts_with('}')) --depth;
    rest.remove_prefix(1);
  } while (depth > 0);
  return absl::OkStatus();
}

// kInvalidArgument: not an array.
absl::Status ParseArray(std::string_view text, TextArena& arena,
                        ArrayText& array) {
  array = {};
  if (text.starts_with('[')) {  // bounds: [0:1]={a,b}
    const size_t equals = text.find('=');
    if (equals == text.npos) return NotAnArray();
    text.remove_prefix(equals + 1);
  }
  if (text == "{}") return absl::OkStatus();
  if (!text.starts_with('{')) return NotAnArray();
  do {
    text.remove_prefix(1);  // the brace, or a comma
    Text element;
    if (text.starts_with('{')) {
      array.is_nested = true;
      WALPOST_RETURN_IF_ERROR(SkipNested(text, arena));
    } else if (text.starts_with('"')) {
      WALPOST_RETURN_IF_ERROR(TakeQuoted(text, arena, element));
    } else {
      TakeUnquoted(text, element);
    }
    array.elements.push_back(element);
  } while (text.starts_with(','));
  return text == "}" ? absl::OkStatus() : NotAnArray();
}

}  // namespace

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
