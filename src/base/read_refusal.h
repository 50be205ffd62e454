// A statement on the outbox that the server refuses for want of a right, and
// what to grant.
//
// Row-level security is one of the reasons: it hides rows from a role without a
// word, and a row that is hidden would count as not there, or as nothing to
// publish. So sessions set `row_security = off`, with which the server refuses
// instead.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace walpost {

inline constexpr std::string_view kSqlstatePrivilege = "42501";

// `status` is an error of that SQLSTATE. `table` is a name as SQL takes it,
// with or without its schema; `privileges` is what the statement needs, as in
// "SELECT, DELETE".
inline absl::Status WithPrivilegeRemedy(const absl::Status& status,
                                        std::string_view table,
                                        std::string_view role,
                                        std::string_view privileges) {
  const std::string text(status.message());
  if (text.find("row-level security") != std::string::npos) {
    return absl::FailedPreconditionError(
        fmt::format("{}; role {} does not see all rows of {}: ALTER ROLE "
                    "\"{}\" BYPASSRLS, or make the role the owner of the table "
                    "(without FORCE ROW LEVEL SECURITY)",
                    text, role, table, role));
  }
  const size_t dot = table.find('.');
  const std::string on_schema =
      dot == std::string_view::npos
          ? ""
          : fmt::format("GRANT USAGE ON SCHEMA {} TO \"{}\"; ",
                        table.substr(0, dot), role);
  return absl::FailedPreconditionError(
      fmt::format("{}; {}GRANT {} ON {} TO \"{}\";", text, on_schema,
                  privileges, table, role));
}

}  // namespace walpost
