#include "postgres/slot/decision_record.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/catalog/publication_comment.h"

namespace walpost {

namespace asio = boost::asio;

std::vector<EventDecision> FindDecisionsIn(
    const std::vector<std::string>& comments, std::string_view slot) {
  std::vector<EventDecision> decisions;
  for (const std::string& comment : comments) {
    std::ranges::move(FindDecisions(comment, slot),
                      std::back_inserter(decisions));
  }
  return decisions;
}

asio::awaitable<absl::StatusOr<std::vector<EventDecision>>> ReadDecisions(
    Connection& connection, std::string publication, std::string slot) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<std::string> comments,
      co_await ReadPublicationComments(connection, std::move(publication)));
  co_return FindDecisionsIn(comments, slot);
}

namespace {

absl::StatusOr<std::string> CheckCount(std::string_view slot,
                                       std::string_view publication,
                                       const std::string& comment) {
  if (FindDecisions(comment, slot).size() <= kMaxDecisions) return comment;
  return absl::ResourceExhaustedError(fmt::format(
      "{} decisions about slot {} are on record in the comment of publication "
      "{}: remove the lines about events whose rows are deleted",
      kMaxDecisions, slot, publication));
}

}  // namespace

asio::awaitable<absl::Status> WriteDecision(Connection& connection,
                                            std::string publication,
                                            EventDecision decision) {
  std::string changed;
  const CommentChange change =
      [&](std::string_view comment) -> absl::StatusOr<std::string> {
    changed = WithDecision(comment, decision);
    return CheckCount(decision.slot, publication, changed);
  };
  const absl::Status written =
      co_await ChangePublicationComment(connection, publication, change);
  if (SqlstateOf(written) != kSqlstateInsufficientPrivilege) co_return written;
  const std::string sql =
      PublicationCommentSql(connection, publication, changed);
  co_return absl::FailedPreconditionError(
      fmt::format("the decision is not on record, because the role of walpost "
                  "does not own publication {}; as its owner run: {};",
                  publication, sql));
}

}  // namespace walpost
