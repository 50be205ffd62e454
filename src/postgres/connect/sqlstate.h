// Errors of libpq as absl::Status.
//
// The code says what to do (delivery/error_policy.h). The SQLSTATE is attached
// (base/sqlstate.h).
#pragma once

#include <libpq-fe.h>

#include <string_view>

#include "absl/status/status.h"
#include "base/sqlstate.h"

namespace walpost {

// Ends an `attempted` that is the beginning of a longer statement.
inline constexpr std::string_view kCutMark = "...";

// An error of the server, from PQgetResult or a notice. `attempted` describes
// the attempt: "START_REPLICATION on slot walpost".
absl::Status StatusFromResult(const PGresult* result,
                              std::string_view attempted);

// The connection itself is broken, or could not be made.
absl::Status StatusFromConnection(const PGconn* connection,
                                  std::string_view attempted);

}  // namespace walpost
