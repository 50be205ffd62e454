// JsonDocument: a JSON text as Jackson's ObjectMapper.readTree reads it.
//
// Strict JSON, but what follows the first complete value is ignored. A name
// that occurs twice has its last value, at the place of its first. A surrogate
// without its partner, which only an escape can bring, is kept as three bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "debezium/text_arena.h"

namespace walpost::debezium {

struct JsonMember;

struct JsonNode {
  enum class Kind {
    kNull,
    kBoolean,
    kInt32,
    kInt64,
    kBigInteger,  // beyond 64 bits
    kDouble,      // a number with a point or an exponent
    kString,
    kArray,
    kObject,
  };
  Kind kind = Kind::kNull;
  bool boolean = false;
  int64_t integer = 0;
  double number = 0;  // may be infinite
  std::string_view text;
  std::vector<JsonNode> elements;   // of an array
  std::vector<JsonMember> members;  // of an object; each name once
};

struct JsonMember {
  std::string_view name;
  JsonNode value;
};

// Limits of Jackson (StreamReadConstraints).
inline constexpr int kMaxJsonNesting = 1'000;
inline constexpr size_t kMaxJsonStringUnits = 20'000'000;  // of UTF-16
inline constexpr size_t kMaxJsonNameUnits = 50'000;
inline constexpr size_t kMaxJsonNumberDigits = 1'000;

// kInvalidArgument: not JSON, or beyond a limit; says where and why. The texts
// are views of `text` or of the arena.
absl::StatusOr<JsonNode> ParseJson(std::string_view text, TextArena& arena);

}  // namespace walpost::debezium
