// Any bytes, as a JSON payload to expand: what is expanded can be written as
// JSON, and as the text of Java.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "debezium/json_converter.h"
#include "debezium/json_expansion.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace walpost::debezium;
  if (size == 0) return 0;
  const JsonExpansion expansion(
      (data[0] & 1) != 0 ? JsonNulls::kOptionalBytes : JsonNulls::kIgnore,
      (data[0] & 2) != 0 ? JsonEmptyArrays::kOptionalString
                         : JsonEmptyArrays::kIgnore);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1,
                              size - 1);
  TextArena arena;
  const auto result = expansion.Expand(text, "payload", arena);
  if (result.outcome != JsonExpansion::Result::Outcome::kExpanded) return 0;
  std::string out;
  const JsonConverter converter(JsonConverter::Schemas::kLeftOut,
                                JsonDecimals::kBase64, true);
  const bool is_written =
      converter.Append({result.schema.get(), &result.value}, out).ok();
  const bool is_printed = AppendJavaText(result.value, out).ok();
  if (!is_written || !is_printed) __builtin_trap();
  return 0;
}
