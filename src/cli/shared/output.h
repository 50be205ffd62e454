// Print: writes the output of verbs to stdout.
//
//   Print("{} {}\n", finding.subject, finding.text);
//
// Commands of walpost in the text get the arguments of this process
// (base/own_arguments.h). Throws std::system_error if stdout cannot be written;
// main turns that into an exit code.
#pragma once

#include <cstdio>
#include <string_view>
#include <utility>

#include "base/own_arguments.h"
#include "fmt/format.h"

namespace walpost {

template <typename... Args>
void Print(std::FILE* to, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  fmt::print(to, "{}", WithOwnArguments(text));
}

template <typename... Args>
void Print(fmt::format_string<Args...> format, Args&&... args) {
  Print(stdout, format, std::forward<Args>(args)...);
}

// The same for content that is shown as it is: JSON, configuration, events.
inline void PrintContent(std::string_view content) {
  fmt::print("{}", content);
}

}  // namespace walpost
