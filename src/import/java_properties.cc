#include "import/java_properties.h"

#include <cstdint>

#include "fmt/format.h"

namespace walpost {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

void AppendCodePoint(uint32_t point, std::string& text) {
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xC0 | point >> 6);
    text += static_cast<char>(0x80 | (point & 0x3F));
  } else {
    text += static_cast<char>(0xE0 | point >> 12);
    text += static_cast<char>(0x80 | (point >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (point & 0x3F));
  }
}

// Takes the logical line that begins at `at`: a line that ends with an odd
// number of \ goes on in the next one, without its leading blanks.
std::string TakeLine(std::string_view text, size_t& at, int& number) {
  std::string line;
  for (;;) {
    while (at < text.size() && IsBlank(text[at])) ++at;
    const size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    line.append(text.substr(at, end - at));
    at = end;
    if (text.substr(at).starts_with("\r\n")) ++at;
    if (at < text.size()) ++at;
    ++number;
    if (line.starts_with('#') || line.starts_with('!')) return {};
    size_t slashes = 0;
    while (slashes < line.size() && line[line.size() - 1 - slashes] == '\\') {
      ++slashes;
    }
    if (slashes % 2 == 0) return line;
    line.pop_back();
    if (at >= text.size()) return line;
  }
}

// The characters up to the first of `ends` that has no \ before it.
absl::StatusOr<std::string> TakeWord(std::string_view line, size_t& at,
                                     std::string_view ends) {
  std::string word;
  while (at < line.size() && ends.find(line[at]) == std::string_view::npos) {
    const char c = line[at++];
    if (c != '\\' || at == line.size()) {
      word += c;
      continue;
    }
    const char escaped = line[at++];
    switch (escaped) {
      case 't':
        word += '\t';
        break;
      case 'n':
        word += '\n';
        break;
      case 'r':
        word += '\r';
        break;
      case 'f':
        word += '\f';
        break;
      case 'u': {
        const std::string digits(line.substr(at, 4));
        if (digits.size() < 4 ||
            digits.find_first_not_of("0123456789abcdefABCDEF") !=
                std::string::npos) {
          return absl::InvalidArgumentError("\\u without four digits");
        }
        AppendCodePoint(static_cast<uint32_t>(std::stoul(digits, nullptr, 16)),
                        word);
        at += 4;
        break;
      }
      default:
        word += escaped;
    }
  }
  return word;
}

}  // namespace

absl::StatusOr<std::vector<std::pair<std::string, std::string>>>
ParseJavaProperties(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> properties;
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const int first = number + 1;
    const std::string line = TakeLine(text, at, number);
    if (line.empty()) continue;
    size_t place = 0;
    auto key = TakeWord(line, place, "=: \t\f");
    while (place < line.size() && IsBlank(line[place])) ++place;
    if (place < line.size() && (line[place] == '=' || line[place] == ':')) {
      ++place;
    }
    while (place < line.size() && IsBlank(line[place])) ++place;
    auto value = TakeWord(line, place, "");
    if (!key.ok() || !value.ok()) {
      return absl::InvalidArgumentError(fmt::format(
          "line {}: {}", first,
          std::string((key.ok() ? value : key).status().message())));
    }
    properties.emplace_back(*std::move(key), *std::move(value));
  }
  return properties;
}

}  // namespace walpost
