// Durations and sizes in human form.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace walpost {

// "200ms", "10s", "5m", "1h", "7d"; digits and a unit, nothing between.
// kInvalidArgument shows the expected form.
absl::StatusOr<std::chrono::milliseconds> ParseDuration(std::string_view text);
std::string FormatDuration(std::chrono::milliseconds duration);

// Bytes: "16MiB", "512KiB", "1GiB", or a plain number. kInvalidArgument shows
// the expected form.
absl::StatusOr<size_t> ParseSize(std::string_view text);
std::string FormatSize(size_t bytes);

}  // namespace walpost
