// An option that means a time.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/time.h"

namespace walpost {

// "1h" (an hour ago), or "2026-11-23 10:00:00" (UTC, or with an offset as in
// RFC 3339). nullopt: `text` is empty. kInvalidArgument: names the option.
absl::StatusOr<std::optional<WallTime>> ParseTimeOption(
    const std::string& option, const std::string& text);

// As people read it: "2026-11-23 10:00:00Z".
std::string FormatTime(WallTime time);

}  // namespace walpost
