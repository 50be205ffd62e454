// Row-level security hides rows from a role without a word: a row that is
// hidden would count as not there, or as nothing to publish. So sessions set
// `row_security = off`, with which the server refuses instead (42501), and this
// gives the refusal its remedy.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace walpost {

inline constexpr std::string_view kSqlstatePrivilege = "42501";

// `status` is an error of that SQLSTATE. One for want of another privilege
// stays as it is.
inline absl::Status WithRowSecurityRemedy(const absl::Status& status,
                                          std::string_view table,
                                          std::string_view role) {
  const std::string text(status.message());
  if (text.find("row-level security") == std::string::npos) return status;
  return absl::FailedPreconditionError(fmt::format(
      "{}; role {} does not see all rows of {}: ALTER ROLE \"{}\" BYPASSRLS, "
      "or "
      "make the role the owner of the table (without FORCE ROW LEVEL SECURITY)",
      text, role, table, role));
}

}  // namespace walpost
