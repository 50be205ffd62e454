#include "postgres/connect/connect_failure.h"

#include <string_view>

#include "base/finding_id.h"
#include "base/read_refusal.h"
#include "fmt/format.h"
#include "postgres/connect/sqlstate.h"

namespace walpost {

std::string DescribeTarget(const PGconn* raw) {
  const auto text = [](const char* value) { return value ? value : "?"; };
  std::string place = text(PQhost(raw));
  // A name may have several addresses.
  const std::string address = text(PQhostaddr(raw));
  const bool is_socket = place.empty() || place.front() == '/';
  if (!is_socket && address.size() > 1 && address != place) {
    place += fmt::format(" ({})", address);
  }
  return fmt::format("connecting to Postgres at {}:{} (database {}, user {})",
                     place, text(PQport(raw)), text(PQdb(raw)),
                     text(PQuser(raw)));
}

absl::Status ConnectFailure(const PGconn* raw) {
  absl::Status status = StatusFromConnection(raw, DescribeTarget(raw));
  const std::string text(status.message());
  const std::string_view libpq = PQerrorMessage(raw);
  const auto says = [&](std::string_view words) {
    return text.find(words) != std::string::npos;
  };
  // Before anything is sent: sslmode, port and the like.
  if (libpq.starts_with("invalid ")) {
    return WithFindingId(
        absl::FailedPreconditionError(fmt::format(
            "postgres.conninfo: {}", libpq.substr(0, libpq.find('\n')))),
        FindingId(kFindingConninfoInvalid));
  }
  if (says("\"idle_session_timeout\"")) {  // the newest of kPinnedSettings
    return WithFindingId(
        absl::FailedPreconditionError(fmt::format(
            "{}: the server is older than PostgreSQL 14, the oldest "
            "that walpost supports: upgrade it",
            DescribeTarget(raw))),
        FindingId("server_version_unsupported"));
  }
  std::string_view remedy;
  if (says("does not support SSL")) {
    remedy = "; set another sslmode in postgres.conninfo, or ssl = on";
  }
  if (remedy.empty()) return status;
  return WithSqlstate(
      absl::Status(status.code(), fmt::format("{}{}", text, remedy)),
      SqlstateOf(status));
}

bool LacksReplication(const absl::Status& status) {
  const std::string text(status.message());
  // Worded differently before 17.
  const bool is_about_it = text.find("WAL sender") != std::string::npos ||
                           text.find("replication") != std::string::npos;
  return SqlstateOf(status) == kSqlstatePrivilege && is_about_it;
}

}  // namespace walpost
