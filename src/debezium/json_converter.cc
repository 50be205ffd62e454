#include "debezium/json_converter.h"

#include <iterator>
#include <utility>

#include "base/status_macros.h"
#include "debezium/base64.h"
#include "debezium/java_number.h"
#include "debezium/json_string.h"
#include "fmt/format.h"

namespace walpost::debezium {
namespace {

constexpr int64_t kMillisOfDate = 86'400'000;

std::string_view JsonTypeName(Schema::Type type) {
  switch (type) {
    case Schema::Type::kInt16:
      return "int16";
    case Schema::Type::kInt32:
      return "int32";
    case Schema::Type::kInt64:
      return "int64";
    case Schema::Type::kFloat32:
      return "float";
    case Schema::Type::kFloat64:
      return "double";
    case Schema::Type::kBoolean:
      return "boolean";
    case Schema::Type::kString:
      return "string";
    case Schema::Type::kBytes:
      return "bytes";
    case Schema::Type::kArray:
      return "array";
    case Schema::Type::kMap:
      return "map";
    case Schema::Type::kStruct:
      return "struct";
  }
  return "";
}

void AppendString(std::string_view text, std::string& out) {
  AppendJsonString(text, Supplementary::kEscaped, out);
}

void AppendQuotedBase64(std::string_view bytes, std::string& out) {
  out += '"';
  AppendBase64(bytes, Base64Alphabet::kStandard, out);
  out += '"';
}

void AppendInteger(int64_t number, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}", number);
}

// A number that JSON does not have is a string.
template <typename Number>
void AppendFloat(Number number, std::string& out) {
  std::string text;
  if constexpr (sizeof(Number) == sizeof(float)) {
    AppendJavaFloat(number, text);
  } else {
    AppendJavaDouble(number, text);
  }
  const char last = text.back();
  const bool is_finite = last >= '0' && last <= '9';
  if (is_finite) {
    out += text;
  } else {
    AppendString(text, out);
  }
}

absl::Status CheckDepth(int depth) {
  if (depth <= kMaxJsonDepth) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("nested deeper than {} levels", kMaxJsonDepth));
}

absl::Status InvalidType(const Schema& schema) {
  return absl::InvalidArgumentError(
      fmt::format("a text where the schema has {}", ToString(schema.type)));
}

// The number behind a date of Kafka Connect.
int64_t NumberOf(std::string_view logical_name, const JavaDate& date) {
  return logical_name == kConnectDateName ? date.millis / kMillisOfDate
                                          : date.millis;
}

}  // namespace

absl::Status JsonConverter::Append(const TypedValue& value,
                                   std::string& out) const {
  const bool has_envelope = schemas_ == Schemas::kWritten;
  if (has_envelope) {
    out += "{\"schema\":";
    if (!value.schema_json.empty()) {
      out += value.schema_json;
    } else if (value.schema == nullptr) {
      out += "null";
    } else {
      WALPOST_RETURN_IF_ERROR(AppendSchemaAt(*value.schema, nullptr, 2, out));
    }
    out += ",\"payload\":";
  }
  if (value.schema != nullptr) {
    WALPOST_RETURN_IF_ERROR(
        AppendValue(*value.schema, *value.value, has_envelope ? 2 : 1, out));
  } else if (const auto* text = std::get_if<std::string_view>(value.value)) {
    AppendString(*text, out);
  } else {
    out += "null";
  }
  if (has_envelope) out += '}';
  return absl::OkStatus();
}

absl::Status JsonConverter::AppendSchemaAt(const Schema& schema,
                                           const std::string* field, int depth,
                                           std::string& out) const {
  WALPOST_RETURN_IF_ERROR(CheckDepth(depth));
  out += "{\"type\":\"";
  out += JsonTypeName(schema.type);
  out += '"';
  switch (schema.type) {
    case Schema::Type::kArray:
      out += ",\"items\":";
      WALPOST_RETURN_IF_ERROR(
          AppendSchemaAt(*schema.values, nullptr, depth + 1, out));
      break;
    case Schema::Type::kMap:
      out += ",\"keys\":";
      WALPOST_RETURN_IF_ERROR(
          AppendSchemaAt(*schema.keys, nullptr, depth + 1, out));
      out += ",\"values\":";
      WALPOST_RETURN_IF_ERROR(
          AppendSchemaAt(*schema.values, nullptr, depth + 1, out));
      break;
    case Schema::Type::kStruct: {
      out += ",\"fields\":[";
      bool is_first = true;
      for (const SchemaField& member : schema.fields) {
        if (!std::exchange(is_first, false)) out += ',';
        WALPOST_RETURN_IF_ERROR(
            AppendSchemaAt(*member.schema, &member.name, depth + 2, out));
      }
      out += ']';
      break;
    }
    default:
      break;
  }
  out += schema.is_optional ? ",\"optional\":true" : ",\"optional\":false";
  if (!schema.name.empty()) {
    out += ",\"name\":";
    AppendString(schema.name, out);
  }
  if (schema.version) {
    out += ",\"version\":";
    AppendInteger(*schema.version, out);
  }
  if (!schema.doc.empty()) {
    out += ",\"doc\":";
    AppendString(schema.doc, out);
  }
  if (!schema.parameters.empty()) {
    out += ",\"parameters\":";
    char separator = '{';
    for (const auto& [name, value] : schema.parameters) {
      out += std::exchange(separator, ',');
      AppendString(name, out);
      out += ':';
      AppendString(value, out);
    }
    out += '}';
  }
  if (schema.default_value != nullptr) {
    out += ",\"default\":";
    WALPOST_RETURN_IF_ERROR(
        AppendValue(schema, *schema.default_value, depth + 1, out));
  }
  if (field != nullptr) {
    out += ",\"field\":";
    AppendString(*field, out);
  }
  out += '}';
  return absl::OkStatus();
}

absl::Status JsonConverter::AppendValue(const Schema& schema,
                                        const Value& value, int depth,
                                        std::string& out) const {
  if (value.is_null()) {
    if (schema.default_value != nullptr && replaces_null_) {
      return AppendValue(schema, *schema.default_value, depth, out);
    }
    if (!schema.is_optional) {
      return absl::InvalidArgumentError("NULL where the schema has no null");
    }
    out += "null";
    return absl::OkStatus();
  }
  if (const auto* date = std::get_if<JavaDate>(&value)) {
    AppendInteger(NumberOf(schema.name, *date), out);
    return absl::OkStatus();
  }
  if (const auto* decimal = std::get_if<Decimal>(&value)) {
    if (decimals_ == JsonDecimals::kNumeric) {
      AppendDecimal(*decimal, out);
    } else {
      std::string bytes;
      AppendUnscaledBytes(*decimal, bytes);
      AppendQuotedBase64(bytes, out);
    }
    return absl::OkStatus();
  }
  return AppendOfType(schema, value, depth, out);
}

absl::Status JsonConverter::AppendOfType(const Schema& schema,
                                         const Value& value, int depth,
                                         std::string& out) const {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    if (schema.type != Schema::Type::kString) return InvalidType(schema);
    AppendString(*text, out);
  } else if (const auto* boolean = std::get_if<bool>(&value)) {
    out += *boolean ? "true" : "false";
  } else if (const auto* short_integer = std::get_if<int16_t>(&value)) {
    AppendInteger(*short_integer, out);
  } else if (const auto* integer = std::get_if<int32_t>(&value)) {
    AppendInteger(*integer, out);
  } else if (const auto* long_integer = std::get_if<int64_t>(&value)) {
    AppendInteger(*long_integer, out);
  } else if (const auto* single = std::get_if<float>(&value)) {
    AppendFloat(*single, out);
  } else if (const auto* number = std::get_if<double>(&value)) {
    AppendFloat(*number, out);
  } else if (const auto* bytes = std::get_if<Bytes>(&value)) {
    AppendQuotedBase64(bytes->bytes, out);
  } else if (const auto* list = std::get_if<List>(&value)) {
    WALPOST_RETURN_IF_ERROR(CheckDepth(depth));
    out += '[';
    bool is_first = true;
    for (const Value& element : list->elements) {
      if (!std::exchange(is_first, false)) out += ',';
      WALPOST_RETURN_IF_ERROR(
          AppendValue(*schema.values, element, depth + 1, out));
    }
    out += ']';
  } else if (const auto* map = std::get_if<Map>(&value)) {
    WALPOST_RETURN_IF_ERROR(CheckDepth(depth));
    out += '{';
    bool is_first = true;
    for (const auto& [key, element] : map->entries) {
      if (!std::exchange(is_first, false)) out += ',';
      AppendString(key, out);
      out += ':';
      WALPOST_RETURN_IF_ERROR(
          AppendValue(*schema.values, element, depth + 1, out));
    }
    out += '}';
  } else if (const auto* fields = std::get_if<Struct>(&value)) {
    WALPOST_RETURN_IF_ERROR(CheckDepth(depth));
    out += '{';
    for (size_t i = 0; i < schema.fields.size(); ++i) {
      if (i != 0) out += ',';
      AppendString(schema.fields[i].name, out);
      out += ':';
      WALPOST_RETURN_IF_ERROR(AppendValue(*schema.fields[i].schema,
                                          fields->values[i], depth + 1, out));
    }
    out += '}';
  } else {
    return absl::InvalidArgumentError("an integer beyond 64 bits");
  }
  return absl::OkStatus();
}

}  // namespace walpost::debezium
