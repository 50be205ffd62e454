// Finds the tables that match the patterns of outbox.tables
// (outbox/table_pattern.h).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"

namespace walpost {

struct MatchingTable {
  std::string name;  // schema.table
  bool is_published = false;
};

// Tables that match a pattern and that `outbox` does not list by name, in one
// statement. Leaves out partitions, whose rows have the name of their root, and
// tables of the server's own schemas. `publication` empty: there is none.
// `outbox` outlives the coroutine.
//
// kFailedPrecondition without an SQLSTATE: a table that matches has a schema
// with a dot in its name; names the table.
boost::asio::awaitable<absl::StatusOr<std::vector<MatchingTable>>>
FindMatchingTables(Connection& connection, std::string publication,
                   const OutboxOptions& outbox);

// The tables of outbox.tables that exist, by their index.
boost::asio::awaitable<absl::StatusOr<std::vector<bool>>> FindExistingTables(
    Connection& connection, const OutboxOptions& outbox);

// Adds all tables that match to outbox.tables.
//
// kFailedPrecondition: see FindByPattern and FindMatchingTables. Others come
// from the connection.
boost::asio::awaitable<absl::Status> ExpandPatterns(Connection& connection,
                                                    OutboxOptions& outbox);

// The names of tables that may have been meant by a name that does not exist
// (outbox/similar_table.h), without tables that `outbox` lists and partitions.
// `outbox` outlives the coroutine.
boost::asio::awaitable<absl::StatusOr<std::vector<std::string>>> ReadTableNames(
    Connection& connection, const OutboxOptions& outbox);

}  // namespace walpost
