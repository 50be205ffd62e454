#include "postgres/publication_comment.h"

#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/quote.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// Nothing else keeps two sessions from replacing the comment that both have
// read.
constexpr char kLockSql[] =
    "SELECT pg_catalog.pg_advisory_xact_lock("
    "pg_catalog.hashtext('walpost comment'))";

asio::awaitable<absl::Status> Edit(
    Connection& connection, std::string publication,
    const std::function<std::string(const std::string& comment)>& edit) {
  const std::string lock = kLockSql;
  const absl::StatusOr<QueryRows> locked = co_await connection.Execute(lock);
  if (!locked.ok()) co_return locked.status();
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::string comment,
      co_await ReadPublicationComment(connection, publication));
  const std::string sql =
      PublicationCommentSql(connection, publication, edit(comment));
  const absl::StatusOr<QueryRows> written = co_await connection.Execute(sql);
  if (!written.ok()) co_return written.status();
  const std::string commit = "COMMIT";
  const absl::StatusOr<QueryRows> ended = co_await connection.Execute(commit);
  co_return ended.status();
}

}  // namespace

boost::asio::awaitable<absl::StatusOr<std::string>> ReadPublicationComment(
    Connection& connection, std::string publication) {
  const std::string sql = fmt::format(
      "SELECT obj_description(oid, 'pg_publication') FROM "
      "pg_catalog.pg_publication WHERE pubname = {}",
      connection.Literal(publication));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  co_return rows.size() == 0 ? std::string() : rows.Text(0, 0);
}

asio::awaitable<absl::Status> EditPublicationComment(
    Connection& connection, std::string publication,
    const std::function<std::string(const std::string& comment)>& edit) {
  const std::string begin = "BEGIN";
  const absl::StatusOr<QueryRows> begun = co_await connection.Execute(begin);
  if (!begun.ok()) co_return begun.status();
  const absl::Status edited =
      co_await Edit(connection, std::move(publication), edit);
  if (edited.ok()) co_return edited;
  const std::string rollback = "ROLLBACK";
  const absl::StatusOr<QueryRows> undone =
      co_await connection.Execute(rollback);
  co_return absl::IsUnavailable(undone.status()) ? undone.status() : edited;
}

std::string PublicationCommentSql(Connection& connection,
                                  const std::string& publication,
                                  const std::string& comment) {
  return fmt::format("COMMENT ON PUBLICATION {} IS {}", QuoteName(publication),
                     connection.Literal(comment));
}

}  // namespace walpost
