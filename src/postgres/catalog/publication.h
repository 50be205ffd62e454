// The publication: the tables whose inserts the server sends.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"

namespace walpost {

boost::asio::awaitable<absl::StatusOr<bool>> PublicationExists(
    Connection& connection, std::string publication);

struct PublicationRights {
  bool exists = false;
  bool may_alter = false;  // and comment on it: the role owns it
  std::string role;        // of the connection
};
boost::asio::awaitable<absl::StatusOr<PublicationRights>> FindPublicationRights(
    Connection& connection, std::string publication);

// The list of one publication that pgoutput takes, as an SQL literal: pgoutput
// reads the names in it as SQL does, with quotes and in lower case without.
std::string PublicationList(Connection& connection,
                            std::string_view publication);

// What a publication of these tables has to publish: inserts; with
// TableOptions::debezium also updates, for Debezium takes the UPDATE of a
// primary key for an event.
std::string PublishedOperations(std::span<const TableOptions> tables);

// CREATE PUBLICATION for these tables (may be empty, for messages only): only
// those operations, so that housekeeping on the outbox is not sent, and
// partitions under the name of their root. `server_version`: 0: not known; from
// 18 on, with generated columns, because earlier servers do not know of it.
std::string CreatePublicationSql(std::string_view publication,
                                 std::span<const TableOptions> tables,
                                 int server_version);

// Runs this SQL. kFailedPrecondition: not the owner of a table, or a missing
// table.
boost::asio::awaitable<absl::Status> CreatePublication(
    Connection& connection, std::string publication,
    std::span<const TableOptions> tables);

}  // namespace walpost
