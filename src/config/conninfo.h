// libpq's connection strings: whether they parse, and how to show them.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace walpost {

// kInvalidArgument: libpq's own reason, without the string (it may hold a
// password). An empty string is fine.
absl::Status CheckConninfo(const std::string& conninfo);

// Whether two strings that parse name the same server, database, user and
// settings: only passwords, certificates and their files may differ.
bool DifferInCredentialsAlone(const std::string& one, const std::string& other);

// A conninfo or URI as key=value pairs, passwords replaced by kHidden. What
// does not parse is hidden whole.
std::string HideConninfoSecrets(const std::string& conninfo);

}  // namespace walpost
