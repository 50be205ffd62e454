// Any output of a program as a token: accepted, with an end in the future and
// no character that would not reach the brokers, or refused with one line.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bearer_token.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace walpost;
  constexpr WallTime kNow{std::chrono::seconds(1'795'858'466)};
  const auto token = ParseBearerToken(
      std::string_view(reinterpret_cast<const char*>(data), size), kNow);
  if (!token.ok()) {
    const std::string message(token.status().message());
    if (!message.starts_with("printed ")) __builtin_trap();
    return 0;
  }
  if (token->expires_at <= kNow) __builtin_trap();
  for (const unsigned char c : token->value) {
    if (c <= ' ' || c >= 127 || c == '"') __builtin_trap();
  }
  return 0;
}
