// OneLine: a statement as a test writes it, over several lines, without its
// line breaks and indentation.
#pragma once

#include <string>
#include <string_view>

namespace walpost::testing {

// Every run of white space becomes one space.
inline std::string OneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\n';
    if (is_space && (line.empty() || line.back() == ' ')) continue;
    line += is_space ? ' ' : c;
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

}  // namespace walpost::testing
