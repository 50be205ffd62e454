// SQLSTATE: the server's code of an error, attached to its absl::Status for
// callers that must distinguish two errors with one remedy.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/cord.h"

namespace walpost {

inline constexpr std::string_view kSqlstateSerializationFailure = "40001";
inline constexpr std::string_view kSqlstateInsufficientPrivilege = "42501";
inline constexpr std::string_view kSqlstateUndefinedTable = "42P01";
inline constexpr std::string_view kSqlstateUndefinedObject = "42704";
inline constexpr std::string_view kSqlstateDuplicateObject = "42710";
inline constexpr std::string_view kSqlstateNotInPrerequisiteState = "55000";
inline constexpr std::string_view kSqlstateObjectInUse = "55006";
inline constexpr std::string_view kSqlstateLockNotAvailable = "55P03";
inline constexpr std::string_view kSqlstateCannotConnectNow = "57P03";

inline constexpr char kSqlstateUrl[] = "walpost/sqlstate";

inline absl::Status WithSqlstate(absl::Status status,
                                 std::string_view sqlstate) {
  status.SetPayload(kSqlstateUrl, absl::Cord(std::string(sqlstate)));
  return status;
}

// Five characters; empty: the error has none.
inline std::string SqlstateOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kSqlstateUrl);
  return payload ? std::string(*payload) : std::string();
}

}  // namespace walpost
