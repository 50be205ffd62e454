// Checks libpq's connection strings, and prints them without secrets.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace walpost {

// kInvalidArgument: libpq's own reason, without the string (it may contain a
// password). An empty string is valid.
absl::Status CheckConninfo(const std::string& conninfo);

// True if two valid strings have the same server, database, user and settings:
// only passwords, certificates and their files may differ.
bool DifferInCredentialsAlone(const std::string& one, const std::string& other);

// Prints a conninfo or URI as key=value pairs, with passwords replaced by
// kHidden. A string that does not parse is hidden completely.
std::string HideConninfoSecrets(const std::string& conninfo);

}  // namespace walpost
