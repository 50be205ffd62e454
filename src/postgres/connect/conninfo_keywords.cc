#include "postgres/connect/conninfo_keywords.h"

#include <algorithm>

#include "fmt/format.h"

namespace walpost {

std::string WithKeywords(
    const PQconninfoOption* parsed,
    const std::vector<std::pair<std::string, std::string>>& changes) {
  std::string text;
  const auto add = [&text](std::string_view key, std::string_view value) {
    text += fmt::format("{}{}='", text.empty() ? "" : " ", key);
    for (const char c : value) {
      if (c == '\'' || c == '\\') text += '\\';
      text += c;
    }
    text += '\'';
  };
  for (const auto* option = parsed; option->keyword != nullptr; ++option) {
    const bool changed = std::ranges::any_of(
        changes, [&](const auto& c) { return c.first == option->keyword; });
    if (option->val != nullptr && !changed) add(option->keyword, option->val);
  }
  for (const auto& [key, value] : changes) {
    if (!value.empty()) add(key, value);
  }
  return text;
}

}  // namespace walpost
