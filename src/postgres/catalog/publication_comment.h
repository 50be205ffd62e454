// The comment of the publication, which has walpost's records: the birth of the
// slot (birth_record.h), decisions of operators (decision_record.h) and pauses
// (pause_record.h). With source: polling, the comments of the tables have them.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "postgres/connect/connection.h"

namespace walpost {

// The comments of all publications, that of `publication` first: the slot may
// have been used under another one before.
boost::asio::awaitable<absl::StatusOr<std::vector<std::string>>>
ReadPublicationComments(Connection& connection, std::string publication);

// Empty: there is no comment, or no publication.
boost::asio::awaitable<absl::StatusOr<std::string>> ReadPublicationComment(
    Connection& connection, std::string publication);

// Replaces the comment by `change` of it; other sessions of walpost that do the
// same wait meanwhile. Errors are those of Execute, and of `change`.
using CommentChange =
    std::function<absl::StatusOr<std::string>(std::string_view comment)>;
boost::asio::awaitable<absl::Status> ChangePublicationComment(
    Connection& connection, std::string publication, CommentChange change);

// The same for a table; its name is as in outbox.tables.
boost::asio::awaitable<absl::StatusOr<std::string>> ReadTableComment(
    Connection& connection, std::string table);
std::string ReadTableCommentSql(Connection& connection,
                                const std::string& table);
boost::asio::awaitable<absl::Status> ChangeTableComment(Connection& connection,
                                                        std::string table,
                                                        CommentChange change);
std::string TableCommentSql(Connection& connection, const std::string& table,
                            const std::string& comment);

// The SQL that replaces the comment, for the owner of the publication.
std::string PublicationCommentSql(Connection& connection,
                                  const std::string& publication,
                                  const std::string& comment);

}  // namespace walpost
