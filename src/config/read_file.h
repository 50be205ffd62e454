// The content of a file that somebody named.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace walpost {

// kInvalidArgument: why it cannot be read, in the words of the operating
// system: "No such file or directory". The caller says which file, and which
// key or option named it.
absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace walpost
