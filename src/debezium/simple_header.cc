#include "debezium/simple_header.h"

#include <utility>

#include "base/status_macros.h"
#include "debezium/base64.h"
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

}  // namespace

absl::Status AppendSimpleHeader(const Value& value, std::string& out) {
  return AppendHeaderValue(value, Place::kTop, out);
}

}  // namespace walpost::debezium
