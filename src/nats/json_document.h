// Reads the JSON that JetStream answers with. What is missing, or of another
// type, reads as empty: an answer is judged by the parts that it has.
//
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nats/jetstream_error.h"
#include "rapidjson/document.h"

namespace walpost {

// A value of a JsonDocument; valid as long as that is.
class JsonValue {
 public:
  explicit JsonValue(const rapidjson::Value* value) : value_(value) {}

  bool exists() const { return value_ != nullptr; }
  JsonValue Child(const char* name) const;
  std::string Text(const char* name) const;
  uint64_t Number(const char* name) const;  // 0: none, or negative
  // -1 is a limit that is not set.
  int64_t Signed(const char* name) const;
  bool Flag(const char* name) const;
  std::vector<JsonValue> List(const char* name) const;
  std::vector<std::string> Texts(const char* name) const;

 private:
  const rapidjson::Value* value_;  // nullptr: none
};

class JsonDocument {
 public:
  explicit JsonDocument(std::string_view json);

  bool is_object() const { return document_.IsObject(); }
  JsonValue root() const {
    return JsonValue(is_object() ? &document_ : nullptr);
  }
  JetStreamError error() const;

 private:
  rapidjson::Document document_;
};

}  // namespace walpost
