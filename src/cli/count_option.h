// A whole number on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>

#include "fmt/format.h"

namespace walpost {

// For CLI::Option::check. CLI11 itself reads -1 as 18446744073709551615.
inline CLI::Validator CountBetween(uint64_t min, uint64_t max) {
  return {[min, max](const std::string& text) -> std::string {
            uint64_t count = 0;
            const char* end = text.data() + text.size();
            const auto [rest, error] = std::from_chars(text.data(), end, count);
            if (error == std::errc() && rest == end && count >= min &&
                count <= max) {
              return "";
            }
            if (max == std::numeric_limits<uint64_t>::max()) {
              return fmt::format("'{}' is not a number of {} or more", text,
                                 min);
            }
            return fmt::format("'{}' is not a number from {} to {}", text, min,
                               max);
          },
          ""};
}

}  // namespace walpost
