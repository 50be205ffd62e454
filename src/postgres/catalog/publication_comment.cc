#include "postgres/catalog/publication_comment.h"

#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/connect/quote.h"

namespace walpost {

boost::asio::awaitable<absl::StatusOr<std::vector<std::string>>>
ReadPublicationComments(Connection& connection, std::string publication) {
  const std::string sql = fmt::format(
      "SELECT obj_description(oid, 'pg_publication') FROM "
      "pg_catalog.pg_publication ORDER BY pubname <> {}, pubname",
      connection.Literal(publication));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  std::vector<std::string> comments;
  for (size_t row = 0; row < rows.size(); ++row) {
    comments.push_back(rows.Text(row, 0));
  }
  co_return comments;
}

boost::asio::awaitable<absl::StatusOr<std::string>> ReadPublicationComment(
    Connection& connection, std::string publication) {
  const std::string sql = fmt::format(
      "SELECT obj_description(oid, 'pg_publication') FROM "
      "pg_catalog.pg_publication WHERE pubname = {}",
      connection.Literal(publication));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  co_return rows.size() == 0 ? std::string() : rows.Text(0, 0);
}

std::string ReadTableCommentSql(Connection& connection,
                                const std::string& table) {
  // to_regclass would need USAGE on the schema.
  return fmt::format(
      "SELECT max(obj_description(c.oid, 'pg_class')) FROM pg_class c "
      "JOIN pg_namespace n ON n.oid = c.relnamespace, parse_ident({}) name "
      "WHERE n.nspname = name[1] AND c.relname = name[2]",
      connection.Literal(QuoteQualifiedName(table)));
}

boost::asio::awaitable<absl::StatusOr<std::string>> ReadTableComment(
    Connection& connection, std::string table) {
  const std::string sql = ReadTableCommentSql(connection, table);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  co_return rows.Text(0, 0);
}

namespace {

// Functions of the object that has the comment.
struct Commented {
  boost::asio::awaitable<absl::StatusOr<std::string>> (*read)(Connection&,
                                                              std::string);
  std::string (*sql)(Connection&, const std::string&, const std::string&);
};
constexpr Commented kPublication{ReadPublicationComment, PublicationCommentSql};
constexpr Commented kTable{ReadTableComment, TableCommentSql};

boost::asio::awaitable<absl::Status> ReadAndChange(Connection& connection,
                                                   Commented object,
                                                   std::string name,
                                                   CommentChange change) {
  WALPOST_CO_ASSIGN_OR_RETURN(const std::string comment,
                              co_await object.read(connection, name));
  WALPOST_CO_ASSIGN_OR_RETURN(const std::string changed, change(comment));
  const std::string sql = object.sql(connection, name, changed);
  const absl::StatusOr<QueryRows> written = co_await connection.Execute(sql);
  co_return written.status();
}

// COMMENT takes no expression, so the comment is read first. The lock is the
// session's, because the caller may be in a transaction.
boost::asio::awaitable<absl::Status> ChangeComment(Connection& connection,
                                                   Commented object,
                                                   std::string name,
                                                   CommentChange change) {
  const std::string key =
      fmt::format("hashtextextended('walpost comment ' || {}, 0)",
                  connection.Literal(name));
  const std::string lock = fmt::format("SELECT pg_advisory_lock({})", key);
  WALPOST_CO_RETURN_IF_ERROR((co_await connection.Execute(lock)).status());
  const absl::Status changed =
      co_await ReadAndChange(connection, object, name, std::move(change));
  const std::string unlock = fmt::format("SELECT pg_advisory_unlock({})", key);
  const absl::StatusOr<QueryRows> unlocked =
      co_await connection.Execute(unlock);
  co_return changed.ok() ? unlocked.status() : changed;
}

}  // namespace

boost::asio::awaitable<absl::Status> ChangePublicationComment(
    Connection& connection, std::string publication, CommentChange change) {
  co_return co_await ChangeComment(connection, kPublication,
                                   std::move(publication), std::move(change));
}

boost::asio::awaitable<absl::Status> ChangeTableComment(Connection& connection,
                                                        std::string table,
                                                        CommentChange change) {
  co_return co_await ChangeComment(connection, kTable, std::move(table),
                                   std::move(change));
}

std::string TableCommentSql(Connection& connection, const std::string& table,
                            const std::string& comment) {
  return fmt::format("COMMENT ON TABLE {} IS {}", QuoteQualifiedName(table),
                     connection.Literal(comment));
}

std::string PublicationCommentSql(Connection& connection,
                                  const std::string& publication,
                                  const std::string& comment) {
  return fmt::format("COMMENT ON PUBLICATION {} IS {}", QuoteName(publication),
                     connection.Literal(comment));
}

}  // namespace walpost
