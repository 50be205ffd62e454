#include "postgres/slot/pause_record.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/catalog/publication_comment.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

using Found = std::optional<PauseRecord>;

// The server's time, and later than that of the record before.
asio::awaitable<absl::StatusOr<WallTime>> TimeAfter(Connection& connection,
                                                    Found before) {
  const std::string sql =
      "SELECT floor(extract(epoch FROM clock_timestamp()))::bigint";
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  const WallTime now(std::chrono::seconds(rows.Integer(0, 0)));
  const std::chrono::seconds step(1);
  co_return before ? std::max(now, before->at + step) : now;
}

std::string_view VerbOf(const PauseRecord& record) {
  return record.is_paused ? "pause" : "resume";
}

// Puts the record into a comment, and keeps the result in `changed`, for the
// owner. The references outlive the change.
CommentChange Put(std::string subject, const PauseRecord& record,
                  std::string& changed) {
  return [subject = std::move(subject), &record,
          &changed](std::string_view comment) -> absl::StatusOr<std::string> {
    changed = WithPause(comment, subject, record);
    return changed;
  };
}

}  // namespace

asio::awaitable<absl::StatusOr<Found>> ReadPause(Connection& connection,
                                                 std::string publication,
                                                 std::string slot) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<std::string> comments,
      co_await ReadPublicationComments(connection, std::move(publication)));
  co_return FindPause(comments, PauseSubject(slot));
}

asio::awaitable<absl::StatusOr<Found>> ReadTablePause(Connection& connection,
                                                      std::string table) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::string comment,
      co_await ReadTableComment(connection, std::move(table)));
  co_return FindTablePause(comment);
}

asio::awaitable<absl::Status> WritePause(Connection& connection,
                                         std::string publication,
                                         std::string slot, PauseRecord record) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      Found before, co_await ReadPause(connection, publication, slot));
  WALPOST_CO_ASSIGN_OR_RETURN(
      record.at, co_await TimeAfter(connection, std::move(before)));
  std::string changed;
  const CommentChange change = Put(PauseSubject(slot), record, changed);
  const absl::Status written =
      co_await ChangePublicationComment(connection, publication, change);
  const std::string sqlstate = SqlstateOf(written);
  if (sqlstate == kSqlstateUndefinedObject) {
    co_return absl::FailedPreconditionError(
        fmt::format("the {} is not on record, because publication {} does not "
                    "exist: walpost init -c FILE --admin CONNINFO",
                    VerbOf(record), publication));
  }
  if (sqlstate != kSqlstateInsufficientPrivilege) co_return written;
  const std::string sql =
      PublicationCommentSql(connection, publication, changed);
  co_return absl::FailedPreconditionError(
      fmt::format("the {} is not on record, because the role of walpost does "
                  "not own publication {}; as its owner run: {};",
                  VerbOf(record), publication, sql));
}

asio::awaitable<absl::Status> WriteTablePauses(Connection& connection,
                                               std::vector<std::string> tables,
                                               PauseRecord record) {
  std::string refused;
  std::string sql;
  for (const std::string& table : tables) {
    WALPOST_CO_ASSIGN_OR_RETURN(Found before,
                                co_await ReadTablePause(connection, table));
    WALPOST_CO_ASSIGN_OR_RETURN(
        record.at, co_await TimeAfter(connection, std::move(before)));
    std::string changed;
    const CommentChange change =
        Put(std::string(kPollingPauseSubject), record, changed);
    const absl::Status written =
        co_await ChangeTableComment(connection, table, change);
    if (written.ok()) continue;
    if (SqlstateOf(written) != kSqlstateInsufficientPrivilege) {
      co_return written;
    }
    refused += fmt::format("{}{}", refused.empty() ? "" : ", ", table);
    sql += fmt::format(" {};", TableCommentSql(connection, table, changed));
  }
  if (refused.empty()) co_return absl::OkStatus();
  co_return absl::FailedPreconditionError(
      fmt::format("the {} is not on record, because the role of walpost does "
                  "not own {}; as the owner run:{}",
                  VerbOf(record), refused, sql));
}

}  // namespace walpost
