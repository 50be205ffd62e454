// Joins texts for an operator: all of them, up to a limit that a log line can
// hold.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace walpost {

inline constexpr size_t kMaxNamed = 20;

// "a, b, c"; a longer list ends with "and 7 more THINGS".
inline std::string JoinNamed(std::span<const std::string> texts,
                             std::string_view things) {
  const size_t named = std::min(texts.size(), kMaxNamed);
  std::string text = fmt::format("{}", fmt::join(texts.first(named), ", "));
  if (named < texts.size()) {
    text += fmt::format(", and {} more {}", texts.size() - named, things);
  }
  return text;
}

}  // namespace walpost
