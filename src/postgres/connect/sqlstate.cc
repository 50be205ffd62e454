#include "postgres/connect/sqlstate.h"

#include "absl/strings/ascii.h"
#include "base/utf8.h"
#include "delivery/error_policy.h"
#include "fmt/format.h"
#include "postgres/connect/connect_hint.h"
#include "postgres/connect/quote.h"

namespace walpost {
namespace {

// libpq's texts have several lines; ours have one.
std::string OneLine(const char* text) {
  std::string line;
  for (const char* c = text; c != nullptr && *c != '\0'; ++c) {
    if (*c != '\n') {
      line += *c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  return std::string(absl::StripTrailingAsciiWhitespace(line));
}

// `hint`, if any, replaces the hint for the SQLSTATE.
absl::Status MakeStatus(std::string_view sqlstate, std::string_view attempted,
                        const std::string& message, std::string hint = "") {
  const ErrorRule rule = ClassifySqlstate(sqlstate);
  // A server with an SQL_ASCII database may quote any bytes.
  const std::string readable = ValidUtf8(message, message.size());
  std::string text = fmt::format("{}: {}", attempted, readable);
  if (!sqlstate.empty()) text += fmt::format(" [{}]", sqlstate);
  if (hint.empty()) hint = rule.hint;
  if (!hint.empty()) text += fmt::format("; {}", hint);
  return WithSqlstate(absl::Status(rule.remedy, text), sqlstate);
}

// cannot delete from table "outbox" because it does not have a replica identity
// and publishes deletes
std::string ReplicaIdentityHint(const std::string& message) {
  if (message.find("does not have a replica identity") == std::string::npos) {
    return "";
  }
  const size_t begin = message.find('"');
  const size_t end = message.find("\" because", begin + 1);
  if (begin == std::string::npos || end == std::string::npos) return "";
  return fmt::format("ALTER TABLE {} REPLICA IDENTITY FULL;",
                     QuoteName(message.substr(begin + 1, end - begin - 1)));
}

// True for errors of data and constraints: their details show values, or the
// whole row ("Failing row contains ..."), including the payload.
bool QuotesRows(std::string_view sqlstate) {
  return sqlstate.starts_with("22") || sqlstate.starts_with("23");
}

// libpq has no field for the SQLSTATE of a rejected connection, but writes it
// into a verbose text: "FATAL:  53300: too many connections ... LOCATION: ...".
// Removes it from the text; the last one, of the last host tried, counts.
std::string TakeSqlstate(std::string& message) {
  constexpr std::string_view kFatal = "FATAL:  ";
  constexpr size_t kLength = 5;
  std::string sqlstate;
  for (size_t at = message.find(kFatal); at != std::string::npos;
       at = message.find(kFatal, at + 1)) {
    const size_t begin = at + kFatal.size();
    if (begin + kLength >= message.size() || message[begin + kLength] != ':') {
      continue;
    }
    sqlstate = message.substr(begin, kLength);
    message.erase(begin, kLength + 2);
    const size_t location = message.find(" LOCATION:", begin);
    if (location == std::string::npos) continue;
    const size_t next = message.find(" connection to ", location);
    message.erase(location, next == std::string::npos ? next : next - location);
  }
  if (sqlstate.empty() &&
      message.find("no password supplied") != std::string::npos) {
    sqlstate = "28P01";  // detected by libpq itself
  }
  return sqlstate;
}

}  // namespace

absl::Status StatusFromResult(const PGresult* result,
                              std::string_view attempted) {
  const auto field = [result](int code) -> const char* {
    return PQresultErrorField(result, code);
  };
  const char* sqlstate = field(PG_DIAG_SQLSTATE);
  std::string message = OneLine(field(PG_DIAG_MESSAGE_PRIMARY));
  if (message.empty()) message = OneLine(PQresultErrorMessage(result));
  if (message.empty()) message = PQresStatus(PQresultStatus(result));
  const std::string_view code = sqlstate == nullptr ? "" : sqlstate;
  for (const int extra : {int{PG_DIAG_MESSAGE_DETAIL}, int{PG_DIAG_CONTEXT}}) {
    const std::string text = OneLine(field(extra));
    if (!text.empty() && !QuotesRows(code)) {
      message += fmt::format(" ({})", text);
    }
  }
  // The server names the object, and the remedy is SQL: the beginning of ours
  // before it would be in the way of whoever pastes that.
  const bool is_cut_sql = attempted.ends_with(kCutMark);
  if (code == kSqlstateInsufficientPrivilege && is_cut_sql) {
    attempted = "Postgres";
  }
  return MakeStatus(code, attempted, message, ReplicaIdentityHint(message));
}

absl::Status StatusFromConnection(const PGconn* connection,
                                  std::string_view attempted) {
  std::string message = OneLine(PQerrorMessage(connection));
  if (message.empty()) message = "the connection was lost";
  const std::string sqlstate = TakeSqlstate(message);
  const auto text = [](const char* value) { return value ? value : "?"; };
  return MakeStatus(
      sqlstate, attempted, message,
      ConnectHint(message, text(PQhost(connection)), text(PQport(connection))));
}

}  // namespace walpost
