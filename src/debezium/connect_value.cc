#include "debezium/connect_value.h"

#include <cstring>

#include "debezium/java_number.h"
#include "debezium/java_time.h"
#include "fmt/format.h"

namespace walpost::debezium {
namespace {

struct JavaTypeName {
  std::string_view operator()(std::monostate) const { return "null"; }
  std::string_view operator()(bool) const { return "Boolean"; }
  std::string_view operator()(int16_t) const { return "Short"; }
  std::string_view operator()(int32_t) const { return "Integer"; }
  std::string_view operator()(int64_t) const { return "Long"; }
  std::string_view operator()(float) const { return "Float"; }
  std::string_view operator()(double) const { return "Double"; }
  std::string_view operator()(std::string_view) const { return "String"; }
  std::string_view operator()(const Bytes&) const { return "ByteBuffer"; }
  std::string_view operator()(const JavaDate&) const { return "Date"; }
  std::string_view operator()(const Decimal&) const { return "BigDecimal"; }
  std::string_view operator()(const BigInteger&) const { return "BigDecimal"; }
  std::string_view operator()(const List&) const { return "List"; }
  std::string_view operator()(const Map&) const { return "Map"; }
  std::string_view operator()(const Struct&) const { return "Struct"; }
};

// Whether the class of the object is one of the schema's type.
bool HasType(const Schema& schema, const Value& value) {
  if (schema.name == kDecimalName)
    return std::holds_alternative<Decimal>(value);
  if (schema.name == kConnectDateName || schema.name == kConnectTimeName ||
      schema.name == kConnectTimestampName) {
    return std::holds_alternative<JavaDate>(value);
  }
  switch (schema.type) {
    case Schema::Type::kInt16:
      return std::holds_alternative<int16_t>(value);
    case Schema::Type::kInt32:
      return std::holds_alternative<int32_t>(value);
    case Schema::Type::kInt64:
      return std::holds_alternative<int64_t>(value);
    case Schema::Type::kFloat32:
      return std::holds_alternative<float>(value);
    case Schema::Type::kFloat64:
      return std::holds_alternative<double>(value);
    case Schema::Type::kBoolean:
      return std::holds_alternative<bool>(value);
    case Schema::Type::kString:
      return std::holds_alternative<std::string_view>(value);
    case Schema::Type::kBytes:
      return std::holds_alternative<Bytes>(value);
    case Schema::Type::kArray:
      return std::holds_alternative<List>(value);
    case Schema::Type::kMap:
      return std::holds_alternative<Map>(value);
    case Schema::Type::kStruct:
      return std::holds_alternative<Struct>(value);
  }
  return false;
}

class JavaText {
 public:
  explicit JavaText(std::string& out) : out_(out) {}

  absl::Status operator()(std::monostate) {
    out_ += "null";
    return absl::OkStatus();
  }
  absl::Status operator()(bool value) {
    out_ += value ? "true" : "false";
    return absl::OkStatus();
  }
  absl::Status operator()(int16_t value) { return Integer(value); }
  absl::Status operator()(int32_t value) { return Integer(value); }
  absl::Status operator()(int64_t value) { return Integer(value); }
  absl::Status operator()(float value) {
    AppendJavaFloat(value, out_);
    return absl::OkStatus();
  }
  absl::Status operator()(double value) {
    AppendJavaDouble(value, out_);
    return absl::OkStatus();
  }
  absl::Status operator()(std::string_view value) {
    AppendUtf8(value, out_);
    return absl::OkStatus();
  }
  absl::Status operator()(const Bytes&) {
    return absl::InvalidArgumentError(
        "bytes have no text: Java's differs from run to run");
  }
  absl::Status operator()(const JavaDate& value) {
    AppendJavaDateText(value.millis, out_);
    return absl::OkStatus();
  }
  absl::Status operator()(const Decimal& value) {
    AppendDecimal(value, out_);
    return absl::OkStatus();
  }
  absl::Status operator()(const BigInteger&) {
    return absl::InvalidArgumentError("an integer beyond 64 bits");
  }

  absl::Status operator()(const List& list) {
    out_ += '[';
    bool is_first = true;
    for (const Value& element : list.elements) {
      if (!std::exchange(is_first, false)) out_ += ", ";
      if (absl::Status status = AppendJavaText(element, out_); !status.ok()) {
        return status;
      }
    }
    out_ += ']';
    return absl::OkStatus();
  }

  absl::Status operator()(const Map& map) {
    out_ += '{';
    bool is_first = true;
    for (const auto& [key, value] : map.entries) {
      if (!std::exchange(is_first, false)) out_ += ", ";
      AppendUtf8(key, out_);
      out_ += '=';
      if (absl::Status status = AppendJavaText(value, out_); !status.ok()) {
        return status;
      }
    }
    out_ += '}';
    return absl::OkStatus();
  }

  // Members that are null are left out.
  absl::Status operator()(const Struct& value) {
    out_ += "Struct{";
    bool is_first = true;
    for (size_t i = 0; i < value.values.size(); ++i) {
      if (value.values[i].is_null()) continue;
      if (!std::exchange(is_first, false)) out_ += ',';
      AppendUtf8(value.schema->fields[i].name, out_);
      out_ += '=';
      if (absl::Status status = AppendJavaText(value.values[i], out_);
          !status.ok()) {
        return status;
      }
    }
    out_ += '}';
    return absl::OkStatus();
  }

 private:
  absl::Status Integer(int64_t value) {
    fmt::format_to(std::back_inserter(out_), "{}", value);
    return absl::OkStatus();
  }

  std::string& out_;
};

// Whether a surrogate without its partner begins at `at`, which has the byte
// 0xed.
bool IsSurrogateAt(std::string_view text, size_t at) {
  return at + 2 < text.size() && static_cast<uint8_t>(text[at + 1]) >= 0xa0;
}

}  // namespace

absl::Status CheckValue(const Schema& schema, const Value& value) {
  if (value.is_null()) {
    if (schema.is_optional || schema.default_value != nullptr) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError("null where a value is required");
  }
  if (!HasType(schema, value)) {
    return absl::InvalidArgumentError(
        fmt::format("a {} where {} is expected",
                    std::visit(JavaTypeName(), value), ToString(schema.type)));
  }
  if (const auto* list = std::get_if<List>(&value)) {
    for (const Value& element : list->elements) {
      if (absl::Status status = CheckValue(*schema.values, element);
          !status.ok()) {
        return status;
      }
    }
  } else if (const auto* map = std::get_if<Map>(&value)) {
    for (const auto& [key, element] : map->entries) {
      if (absl::Status status = CheckValue(*schema.values, element);
          !status.ok()) {
        return status;
      }
    }
  } else if (const auto* fields = std::get_if<Struct>(&value)) {
    if (!(*fields->schema == schema)) {
      return absl::InvalidArgumentError("an object with other members");
    }
  }
  return absl::OkStatus();
}

absl::Status AppendJavaText(const Value& value, std::string& out) {
  return std::visit(JavaText(out), value);
}

bool HasLoneSurrogate(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    const void* found = std::memchr(text.data() + at, 0xed, text.size() - at);
    if (found == nullptr) return false;
    at = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    if (IsSurrogateAt(text, at)) return true;
  }
  return false;
}

void AppendUtf8(std::string_view text, std::string& out) {
  if (!HasLoneSurrogate(text)) {
    out += text;
    return;
  }
  for (size_t at = 0; at < text.size(); ++at) {
    if (static_cast<uint8_t>(text[at]) == 0xed && IsSurrogateAt(text, at)) {
      out += '?';
      at += 2;
    } else {
      out += text[at];
    }
  }
}

}  // namespace walpost::debezium
