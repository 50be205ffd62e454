// The content of a file that somebody named.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace walpost {

// More than a configuration or a secret ever has.
inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;

// kInvalidArgument: why it cannot be read, in the words of the operating
// system: "No such file or directory"; or that it has more than `most_bytes`,
// as a device without an end. The caller says which file, and which key or
// option named it.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     size_t most_bytes = kMaxConfigBytes);

}  // namespace walpost
