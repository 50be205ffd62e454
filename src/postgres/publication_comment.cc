#include "postgres/publication_comment.h"

#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/quote.h"

namespace walpost {

boost::asio::awaitable<absl::StatusOr<std::string>> ReadPublicationComment(
    Connection& connection, std::string publication) {
  const std::string sql = fmt::format(
      "SELECT obj_description(oid, 'pg_publication') FROM "
      "pg_catalog.pg_publication WHERE pubname = {}",
      connection.Literal(publication));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  co_return rows.size() == 0 ? std::string() : rows.Text(0, 0);
}

std::string PublicationCommentSql(Connection& connection,
                                  const std::string& publication,
                                  const std::string& comment) {
  return fmt::format("COMMENT ON PUBLICATION {} IS {}", QuoteName(publication),
                     connection.Literal(comment));
}

}  // namespace walpost
