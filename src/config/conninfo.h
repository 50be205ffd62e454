// Checks libpq's connection strings, and prints them without secrets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/reloadable_text.h"

namespace walpost {

// The words that libpq knows, such as host.
std::vector<std::string> ConninfoKeywords();

// kInvalidArgument: libpq's own reason, without the string (it may contain a
// password): it cannot be read, or a value is none of its keyword's. An empty
// string is valid. Asks no server.
absl::Status CheckConninfo(const std::string& conninfo);

// True if two valid strings have the same server, database, user and settings:
// only passwords, certificates and their files may differ.
bool DifferInCredentialsAlone(const std::string& one, const std::string& other);

// Prints a conninfo or URI as key=value pairs, with passwords replaced by
// kHidden. A string that does not parse is hidden completely.
std::string HideConninfoSecrets(const std::string& conninfo);

// The value of a keyword, such as user, in a conninfo. Empty: there is none, or
// it is a reference that cannot be read now.
std::string ConninfoValue(const ReloadableText& conninfo,
                          std::string_view keyword);

// A valid conninfo or URI as key=value pairs, with one more.
std::string WithConninfoValue(const std::string& conninfo,
                              std::string_view keyword, std::string_view value);

}  // namespace walpost
