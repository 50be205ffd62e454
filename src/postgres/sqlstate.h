// Errors of libpq as absl::Status.
//
// The code says what to do (delivery/error_policy.h). The SQLSTATE is attached,
// for callers that must distinguish two errors with one remedy.
#pragma once

#include <libpq-fe.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace walpost {

// An error of the server, from PQgetResult or a notice. `attempted` describes
// the attempt: "START_REPLICATION on slot walpost".
absl::Status StatusFromResult(const PGresult* result,
                              std::string_view attempted);

// The connection itself is broken, or could not be made.
absl::Status StatusFromConnection(const PGconn* connection,
                                  std::string_view attempted);

// `status` with this SQLSTATE attached.
absl::Status WithSqlstate(absl::Status status, std::string_view sqlstate);

// Five characters; empty: the error has none.
std::string SqlstateOf(const absl::Status& status);

inline constexpr std::string_view kSqlstateUndefinedTable = "42P01";
inline constexpr std::string_view kSqlstateDuplicateObject = "42710";
inline constexpr std::string_view kSqlstateNotInPrerequisiteState = "55000";
inline constexpr std::string_view kSqlstateObjectInUse = "55006";
inline constexpr std::string_view kSqlstateLockNotAvailable = "55P03";
inline constexpr std::string_view kSqlstateCannotConnectNow = "57P03";

}  // namespace walpost
