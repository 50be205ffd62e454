#include "debezium/record_converter.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "debezium/base64.h"
#include "debezium/connect_value.h"
#include "debezium/java_time.h"

namespace walpost::debezium {
namespace {

// Inside of an array, a map or a struct, texts have quotes.
enum class Place { kTop, kEmbedded };

absl::Status AppendHeaderValue(const Value& value, Place place,
                               std::string& out);

void AppendHeaderText(std::string_view text, Place place, std::string& out) {
  if (place == Place::kTop) {
    AppendUtf8(text, out);
    return;
  }
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  out += '"';
  AppendUtf8(escaped, out);
  out += '"';
}

absl::Status AppendHeaderMember(std::string_view name, const Value& value,
                                bool is_first, std::string& out) {
  if (!is_first) out += ',';
  AppendHeaderText(name, Place::kEmbedded, out);
  out += ':';
  return AppendHeaderValue(value, Place::kEmbedded, out);
}

absl::Status AppendHeaderValue(const Value& value, Place place,
                               std::string& out) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    AppendHeaderText(*text, place, out);
    return absl::OkStatus();
  }
  if (const auto* bytes = std::get_if<Bytes>(&value)) {
    if (place == Place::kEmbedded) out += '"';
    AppendBase64(bytes->bytes, Base64Alphabet::kStandard, out);
    if (place == Place::kEmbedded) out += '"';
    return absl::OkStatus();
  }
  if (const auto* date = std::get_if<JavaDate>(&value)) {
    AppendHeaderDateText(date->millis, out);
    return absl::OkStatus();
  }
  if (const auto* list = std::get_if<List>(&value)) {
    out += '[';
    bool is_first = true;
    for (const Value& element : list->elements) {
      if (!std::exchange(is_first, false)) out += ',';
      WALPOST_RETURN_IF_ERROR(
          AppendHeaderValue(element, Place::kEmbedded, out));
    }
    out += ']';
    return absl::OkStatus();
  }
  if (const auto* map = std::get_if<Map>(&value)) {
    out += '{';
    bool is_first = true;
    for (const auto& [key, element] : map->entries) {
      WALPOST_RETURN_IF_ERROR(AppendHeaderMember(
          key, element, std::exchange(is_first, false), out));
    }
    out += '}';
    return absl::OkStatus();
  }
  if (const auto* fields = std::get_if<Struct>(&value)) {
    out += '{';
    for (size_t i = 0; i < fields->values.size(); ++i) {
      WALPOST_RETURN_IF_ERROR(AppendHeaderMember(
          fields->schema->fields[i].name, fields->values[i], i == 0, out));
    }
    out += '}';
    return absl::OkStatus();
  }
  return AppendJavaText(value, out);  // null, booleans and numbers
}

// Header values as org.apache.kafka.connect.storage.SimpleHeaderConverter
// writes them: a text without quotes, a number, bytes in base64; arrays and
// structs much like JSON.
//
//   T"q\é    AP9B    ["a",null,"b c"]    {"scale":1,"value":"ew=="}
//
// `value` is not null. kInvalidArgument: an integer beyond 64 bits.
absl::Status AppendSimpleHeader(const Value& value, std::string& out) {
  return AppendHeaderValue(value, Place::kTop, out);
}

JsonConverter::Schemas SchemasOf(bool are_written) {
  return are_written ? JsonConverter::Schemas::kWritten
                     : JsonConverter::Schemas::kLeftOut;
}

bool WritesSchemas(Converter converter) {
  return converter == Converter::kJsonSchemas ||
         converter == Converter::kBytesOrJsonSchemas;
}

}  // namespace

RecordConverter::RecordConverter(Converter converter, const Options& options)
    : schemas_(SchemasOf(WritesSchemas(converter))),
      json_(schemas_, options.json_decimals,
            options.replace_null_with_default) {
  switch (converter) {
    case Converter::kString:
      form_ = Form::kJavaText;
      break;
    case Converter::kJson:
    case Converter::kJsonSchemas:
      form_ = Form::kJson;
      break;
    case Converter::kBytes:
      takes_bytes_ = true;
      break;
    case Converter::kBytesOrString:
      takes_bytes_ = true;
      form_ = Form::kJavaText;
      break;
    case Converter::kBytesOrJson:
    case Converter::kBytesOrJsonSchemas:
      takes_bytes_ = true;
      form_ = Form::kJson;
      break;
  }
}

RecordConverter::RecordConverter(HeaderConverter converter,
                                 const Options& options)
    : schemas_(SchemasOf(converter == HeaderConverter::kJsonSchemas)),
      json_(schemas_, options.json_decimals,
            options.replace_null_with_default) {
  switch (converter) {
    case HeaderConverter::kSimple:
      form_ = Form::kSimple;
      break;
    case HeaderConverter::kString:
      form_ = Form::kJavaText;
      break;
    case HeaderConverter::kJson:
    case HeaderConverter::kJsonSchemas:
      form_ = Form::kJson;
      break;
  }
}

std::string RecordConverter::SchemaJson(const Schema& schema) const {
  std::string json;
  const bool is_written = form_ == Form::kJson &&
                          schemas_ == JsonConverter::Schemas::kWritten &&
                          json_.AppendSchema(schema, nullptr, json).ok();
  return is_written ? json : std::string();
}

absl::Status RecordConverter::Convert(const TypedValue& value,
                                      std::string& buffer, Text& bytes) const {
  bytes = std::nullopt;
  if (takes_bytes_) {
    if (const auto* raw = std::get_if<Bytes>(value.value)) {
      bytes = raw->bytes;
      return absl::OkStatus();
    }
    const bool is_bytes =
        value.schema != nullptr && value.schema->type == Schema::Type::kBytes;
    if (value.value->is_null() && (is_bytes || !form_)) return absl::OkStatus();
  }
  return Delegate(value, buffer, bytes);
}

absl::Status RecordConverter::Delegate(const TypedValue& value,
                                       std::string& buffer, Text& bytes) const {
  if (!form_) {
    return absl::InvalidArgumentError(
        "the converter bytes takes only bytes: set bytes_or_string, "
        "bytes_or_json or another converter");
  }
  if (*form_ == Form::kJson) return ConvertJson(value, buffer, bytes);
  return ConvertText(value, buffer, bytes);
}

absl::Status RecordConverter::ConvertText(const TypedValue& value,
                                          std::string& buffer,
                                          Text& bytes) const {
  if (value.value->is_null()) return absl::OkStatus();
  const auto* text = std::get_if<std::string_view>(value.value);
  if (text != nullptr && !HasLoneSurrogate(*text)) {
    bytes = *text;
    return absl::OkStatus();
  }
  buffer.clear();
  if (*form_ == Form::kSimple) {
    WALPOST_RETURN_IF_ERROR(AppendSimpleHeader(*value.value, buffer));
  } else if (const absl::Status status = AppendJavaText(*value.value, buffer);
             !status.ok()) {
    return absl::InvalidArgumentError(
        std::string(status.message()) +
        ": set the converter json, or, for a column of bytes, bytes");
  }
  bytes = buffer;
  return absl::OkStatus();
}

absl::Status RecordConverter::ConvertJson(const TypedValue& value,
                                          std::string& buffer,
                                          Text& bytes) const {
  if (value.schema == nullptr && value.value->is_null()) {
    return absl::OkStatus();
  }
  buffer.clear();
  WALPOST_RETURN_IF_ERROR(json_.Append(value, buffer));
  bytes = buffer;
  return absl::OkStatus();
}

}  // namespace walpost::debezium
