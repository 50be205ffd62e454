#include "checkpoint/escaped_name.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "fmt/format.h"

namespace walpost {

std::string EscapeName(std::string_view name) {
  std::string escaped;
  for (const char c : name) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
        c == '.') {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

std::string UnescapeName(std::string_view escaped) {
  std::string name;
  for (size_t i = 0; i < escaped.size(); ++i) {
    int code = 0;
    const std::string digits(escaped.substr(i + 1, 2));
    if (escaped[i] == '%' && digits.size() == 2 &&
        absl::SimpleHexAtoi(digits, &code)) {
      name += static_cast<char>(code);
      i += 2;
    } else {
      name += escaped[i];
    }
  }
  return name;
}

}  // namespace walpost
