// The failure of a text that is not one of its type.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace walpost::debezium {

inline absl::Status NotA(std::string_view type, std::string_view text) {
  return absl::InvalidArgumentError(
      fmt::format("'{}' is not a {}", text.substr(0, 100), type));
}

}  // namespace walpost::debezium
