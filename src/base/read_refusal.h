// Remedy for a statement on the outbox that the server rejects because of a
// missing right.
//
// Row-level security is one of the causes: it silently hides rows from a role,
// and a hidden row would count as missing, or as nothing to publish. So
// sessions set `row_security = off`; then the server rejects the statement
// instead.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/sql_name.h"
#include "fmt/format.h"

namespace walpost {

inline constexpr std::string_view kSqlstatePrivilege = "42501";

// `status` is an error with that SQLSTATE. `table` is a name in SQL, with or
// without its schema; `privileges` are those that the statement needs, such as
// "SELECT, DELETE".
inline absl::Status WithPrivilegeRemedy(const absl::Status& status,
                                        std::string_view table,
                                        std::string_view role,
                                        std::string_view privileges) {
  const std::string text(status.message());
  if (text.find("row-level security") != std::string::npos) {
    return absl::FailedPreconditionError(
        fmt::format("{}; role {} does not see all rows of {}: ALTER ROLE {} "
                    "BYPASSRLS; or make the role the owner of the table "
                    "(without FORCE ROW LEVEL SECURITY)",
                    text, role, table, QuoteName(role)));
  }
  const std::string_view schema = SchemaInSql(table);
  const std::string on_schema =
      schema.empty() ? ""
                     : fmt::format("GRANT USAGE ON SCHEMA {} TO {}; ", schema,
                                   QuoteName(role));
  return absl::FailedPreconditionError(
      fmt::format("{}; {}GRANT {} ON {} TO {};", text, on_schema, privileges,
                  table, QuoteName(role)));
}

}  // namespace walpost
