// The right to replicate: an attribute of the role, or on Amazon RDS and Aurora
// membership in the role rds_replication.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "postgres/connect/connection.h"

namespace walpost {

struct ReplicationRight {
  bool is_held = false;
  std::string sql;  // gives it
};
// kNotFound: there is no such role.
boost::asio::awaitable<absl::StatusOr<ReplicationRight>> FindReplicationRight(
    Connection& connection, std::string role);

// Adds the SQL to `status`, of a connection for replication with `options` that
// the server has rejected because of this right.
boost::asio::awaitable<absl::Status> WithReplicationRemedy(
    boost::asio::any_io_executor executor, ConnectionOptions options,
    absl::Status status);

}  // namespace walpost
