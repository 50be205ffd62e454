// JsonLine: one JSON object on a line, for `--json`; and the texts of values
// that may be NULL or not UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dead_letters/dead_letter.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"

namespace walpost {

// As people read it: NULL, or valid UTF-8, cut if it is very long.
std::string ShownText(std::string_view text);
std::string ShownValue(const OwnValue& value);

class JsonLine {
 public:
  JsonLine() : writer_(buffer_) { writer_.StartObject(); }
  JsonLine(const JsonLine&) = delete;
  JsonLine& operator=(const JsonLine&) = delete;

  void Add(const char* name, std::string_view text);
  void AddValue(const char* name, const OwnValue& value);
  void AddNumber(const char* name, uint64_t number);
  // The object, with a line break. Call it once.
  std::string Finish();

 private:
  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_;
};

}  // namespace walpost
