#include "cli/shared/json_line.h"

#include "base/utf8.h"

namespace walpost {
namespace {

constexpr size_t kMaxShownBytes = size_t{1} << 20;

}  // namespace

std::string ShownText(std::string_view text) {
  return ValidUtf8(text, kMaxShownBytes);
}

std::string ShownValue(const OwnValue& value) {
  return value ? ShownText(*value) : "NULL";
}

void JsonLine::Add(const char* name, std::string_view text) {
  writer_.Key(name);
  const std::string valid = ShownText(text);
  writer_.String(valid.data(), static_cast<rapidjson::SizeType>(valid.size()));
}

void JsonLine::AddValue(const char* name, const OwnValue& value) {
  if (value) return Add(name, *value);
  writer_.Key(name);
  writer_.Null();
}

void JsonLine::AddNumber(const char* name, uint64_t number) {
  writer_.Key(name);
  writer_.Uint64(number);
}

std::string JsonLine::Finish() {
  writer_.EndObject();
  return std::string(buffer_.GetString(), buffer_.GetSize()) + "\n";
}

}  // namespace walpost
