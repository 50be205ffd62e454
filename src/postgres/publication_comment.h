// The comment of the publication, which has walpost's records: the birth of the
// slot (birth_record.h) and decisions of operators (decision_record.h).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "postgres/connection.h"

namespace walpost {

// Empty: there is no comment, or no publication.
boost::asio::awaitable<absl::StatusOr<std::string>> ReadPublicationComment(
    Connection& connection, std::string publication);

// Replaces the comment by `edit` of the present one, in a transaction; one
// walpost at a time does so. SQLSTATE 42501: the role does not own the
// publication. Not in an open transaction. `edit` outlives the coroutine.
boost::asio::awaitable<absl::Status> EditPublicationComment(
    Connection& connection, std::string publication,
    const std::function<std::string(const std::string& comment)>& edit);

// The SQL that replaces the comment, for the owner of the publication.
std::string PublicationCommentSql(Connection& connection,
                                  const std::string& publication,
                                  const std::string& comment);

}  // namespace walpost
