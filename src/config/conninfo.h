// libpq's connection strings: whether they parse, and how to show them.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace walpost {

// kInvalidArgument: libpq's own reason, without the string (it may hold a
// password). An empty string is fine.
absl::Status CheckConninfo(const std::string& conninfo);

// A conninfo or URI as key=value pairs, passwords replaced by kHidden. What
// does not parse is hidden whole.
std::string HideConninfoSecrets(const std::string& conninfo);

}  // namespace walpost
