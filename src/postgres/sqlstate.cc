#include "postgres/sqlstate.h"

#include "absl/strings/ascii.h"
#include "delivery/error_policy.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr char kSqlstateUrl[] = "walpost/sqlstate";

// libpq's texts run over several lines; ours are one.
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

absl::Status MakeStatus(std::string_view sqlstate, std::string_view attempted,
                        std::string message) {
  const ErrorRule rule = ClassifySqlstate(sqlstate);
  std::string text = fmt::format("{}: {}", attempted, message);
  if (!sqlstate.empty()) text += fmt::format(" [{}]", sqlstate);
  if (!rule.hint.empty()) text += fmt::format("; {}", rule.hint);
  absl::Status status(rule.remedy, text);
  status.SetPayload(kSqlstateUrl, absl::Cord(std::string(sqlstate)));
  return status;
}

// libpq gives no SQLSTATE for a failed connection, only the text.
std::string_view GuessSqlstate(std::string_view message) {
  struct Known {
    std::string_view text;
    std::string_view sqlstate;
  };
  static constexpr Known kKnown[] = {
      {"authentication failed", "28P01"},
      {"no password supplied", "28P01"},
      {"no pg_hba.conf entry", "28000"},
      {"role \"", "28000"},
      {"the database system is shutting down", "57P03"},
      {"the database system is starting up", "57P03"},
      {"the database system is in recovery", "57P03"},
      {"too many connections", "53300"},
      {"remaining connection slots", "53300"},
      {"number of requested standby connections", "53300"},
      {"must be superuser or replication role", "42501"},
      {"permission denied to start WAL sender", "42501"},
      {"database \"", "3D000"},
      {"unsupported startup parameter", "08P01"},
  };
  const bool refused =
      message.find("FATAL") != std::string_view::npos ||
      message.find("no password supplied") != std::string_view::npos ||
      message.find("unsupported startup") != std::string_view::npos;
  if (!refused) return "";
  for (const Known& known : kKnown) {
    if (message.find(known.text) != std::string_view::npos) {
      return known.sqlstate;
    }
  }
  return "";
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
  for (const int extra : {PG_DIAG_MESSAGE_DETAIL, PG_DIAG_CONTEXT}) {
    const std::string text = OneLine(field(extra));
    if (!text.empty()) message += fmt::format(" ({})", text);
  }
  return MakeStatus(sqlstate == nullptr ? "" : sqlstate, attempted, message);
}

absl::Status StatusFromConnection(const PGconn* connection,
                                  std::string_view attempted) {
  std::string message = OneLine(PQerrorMessage(connection));
  if (message.empty()) message = "the connection was lost";
  return MakeStatus(GuessSqlstate(message), attempted, message);
}

std::string SqlstateOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kSqlstateUrl);
  return payload ? std::string(*payload) : std::string();
}

}  // namespace walpost
