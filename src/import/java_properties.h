// Reads Java's .properties format (java.util.Properties.load), in UTF-8.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace walpost {

// Keys and values in the order of the file. Of a key that is there twice, Java
// takes the last; both are here. kInvalidArgument names the line of a malformed
// \u.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>>
ParseJavaProperties(std::string_view text);

}  // namespace walpost
