#include "debezium/json_string.h"

#include <cstddef>
#include <cstdint>

namespace walpost::debezium {
namespace {

void AppendUnicodeEscape(uint32_t unit, std::string& out) {
  constexpr char kHex[] = "0123456789ABCDEF";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[unit >> shift & 15];
}

void AppendShortEscape(char c, std::string& out) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      AppendUnicodeEscape(static_cast<uint8_t>(c), out);
  }
}

uint32_t Continuation(char byte) { return static_cast<uint8_t>(byte) & 0x3f; }

// Bytes of the character at the begin of `rest` that are written as escapes;
// 0: the character is written as it is.
size_t AppendSurrogates(std::string_view rest, Supplementary supplementary,
                        std::string& out) {
  const auto first = static_cast<uint8_t>(rest[0]);
  if (first == 0xed) {
    if (rest.size() < 3 || static_cast<uint8_t>(rest[1]) < 0xa0) return 0;
    AppendUnicodeEscape(
        0xd000 | Continuation(rest[1]) << 6 | Continuation(rest[2]), out);
    return 3;
  }
  if (supplementary == Supplementary::kRaw || rest.size() < 4) return 0;
  const uint32_t point = (first & 7u) << 18 | Continuation(rest[1]) << 12 |
                         Continuation(rest[2]) << 6 | Continuation(rest[3]);
  AppendUnicodeEscape(0xd7c0 + (point >> 10), out);
  AppendUnicodeEscape(0xdc00 + (point & 0x3ff), out);
  return 4;
}

}  // namespace

void AppendJsonString(std::string_view text, Supplementary supplementary,
                      std::string& out) {
  out += '"';
  size_t copied = 0;  // bytes of `text` that are in `out`
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0xed &&
        byte < 0xf0) {
      ++i;
      continue;
    }
    out += text.substr(copied, i - copied);
    copied = i;
    if (byte < 0x80) {
      AppendShortEscape(text[i], out);
      copied = ++i;
      continue;
    }
    const size_t escaped = AppendSurrogates(text.substr(i), supplementary, out);
    i += escaped == 0 ? 1 : escaped;
    if (escaped != 0) copied = i;
  }
  out += text.substr(copied);
  out += '"';
}

}  // namespace walpost::debezium
