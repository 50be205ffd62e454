// Replica identity: without one, Postgres rejects DELETE and UPDATE of a table
// whose publication sends them (55000). INSERT works, so it is noticed late.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "postgres/connect/connection.h"

namespace walpost {

enum class RowChange { kUpdate, kDelete };

// Publications of any program count. `needed_for`: who changes rows, as in
// "walpost prune". `table`: schema.table. No finding: it has an identity, or
// nobody publishes such changes.
boost::asio::awaitable<absl::StatusOr<Findings>> CheckReplicaIdentity(
    Connection& connection, std::string table, RowChange change,
    std::string needed_for, Severity severity);

// Tables of any program that `publication` makes unchangeable: one FOR ALL
// TABLES has those of extensions, too. At most one finding.
boost::asio::awaitable<absl::StatusOr<Findings>> CheckPublishedChanges(
    Connection& connection, std::string publication);

}  // namespace walpost
