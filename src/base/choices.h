// Choices: the values of an enum and their names, in one table from which the
// configuration is read and printed.
//
//   inline constexpr Choices<LogFormat, 2> kLogFormats = {{
//       {"text", LogFormat::kText}, {"json", LogFormat::kJson}}};
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace walpost {

template <typename Enum, size_t n>
using Choices = std::array<std::pair<std::string_view, Enum>, n>;

// Empty: the table does not have the value.
template <typename Enum, size_t n>
constexpr std::string_view NameIn(const Choices<Enum, n>& choices, Enum value) {
  for (const auto& [name, named] : choices) {
    if (named == value) return name;
  }
  return "";
}

}  // namespace walpost
