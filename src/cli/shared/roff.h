// Text as roff, for manual pages.
#pragma once

#include <string>
#include <string_view>

#include "absl/strings/str_replace.h"

namespace walpost {

// No part of it is a request, and hyphens can be searched for.
inline std::string Roff(std::string_view text) {
  const std::string line = absl::StrReplaceAll(
      std::string(text), {{"\\", "\\e"}, {"-", "\\-"}, {"\n", " "}});
  const bool is_request = line.starts_with('.') || line.starts_with('\'');
  return is_request ? "\\&" + line : line;
}

}  // namespace walpost
