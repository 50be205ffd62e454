#include "postgres/decision_record.h"

#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/publication_comment.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<std::optional<EventDecision>>> ReadDecision(
    Connection& connection, std::string publication, std::string slot) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::string comment,
      co_await ReadPublicationComment(connection, publication));
  co_return FindDecision(comment, slot);
}

asio::awaitable<absl::Status> WriteDecision(Connection& connection,
                                            std::string publication,
                                            EventDecision decision) {
  const std::function<std::string(const std::string&)> edit =
      [&decision](const std::string& comment) {
        return WithDecision(comment, decision);
      };
  const absl::Status written =
      co_await EditPublicationComment(connection, publication, edit);
  if (SqlstateOf(written) != kSqlstateInsufficientPrivilege) co_return written;
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::string comment,
      co_await ReadPublicationComment(connection, publication));
  const std::string sql =
      PublicationCommentSql(connection, publication, edit(comment));
  co_return absl::FailedPreconditionError(
      fmt::format("the decision is not on record, because the role of walpost "
                  "does not own publication {}; as its owner run: {};",
                  publication, sql));
}

}  // namespace walpost
