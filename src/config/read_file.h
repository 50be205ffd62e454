// Reads a file that the user has named.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace walpost {

// More than any configuration or secret has.
inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;

// kInvalidArgument: why it cannot be read, in the operating system's words ("No
// such file or directory"), or that it has more than `most_bytes`, such as an
// endless device. The caller adds the file, and the key or option that named
// it.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     size_t most_bytes = kMaxConfigBytes);

}  // namespace walpost
