// Options that mean a time, or a place in the WAL.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "base/time.h"

namespace walpost {

// "1h" (an hour ago), or "2026-11-23 10:00:00" (UTC, or with an offset as in
// RFC 3339). nullopt: `text` is empty. kInvalidArgument: names the option.
absl::StatusOr<std::optional<WallTime>> ParseTimeOption(
    const std::string& option, const std::string& text);

// As people read it: "2026-11-23 10:00:00Z".
std::string FormatTime(WallTime time);

// 0/0 if `text` is empty: the option was not given. kInvalidArgument names the
// option and its value.
absl::StatusOr<Lsn> ParseLsnOption(const char* option, const std::string& text);

}  // namespace walpost
