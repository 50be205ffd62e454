// Strings of JSON as Jackson 2 writes them in UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace walpost::debezium {

// Characters beyond U+FFFF.
enum class Supplementary {
  kEscaped,  // two escapes, 😀 as \uD83D\uDE00: of the generator of bytes
  kRaw,      // of the generator of text
};

// With its quotes. `text` is UTF-8, which may have surrogates as three bytes.
void AppendJsonString(std::string_view text, Supplementary supplementary,
                      std::string& out);

}  // namespace walpost::debezium
