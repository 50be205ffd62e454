// Coverage of the publication, from the catalogs (checkpoint/coverage.h).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "checkpoint/coverage.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"

namespace walpost {

// SQL of the coverage of the rows in "tables" (TablesSql).
std::string CoverageSql(Connection& connection, const std::string& publication);

// One statement, so one snapshot. A table that does not exist has an empty
// definition. `tables` outlives the coroutine.
boost::asio::awaitable<absl::StatusOr<Coverage>> ReadCoverage(
    Connection& connection, std::string publication,
    std::span<const TableOptions> tables);

// `now`: of `publication`; `known`: the coverage on record.
// kFailedPrecondition: there is no such publication, and the one on record has
// another name: the configured name is mistyped, or the publication was
// renamed.
boost::asio::awaitable<absl::Status> RequirePublicationOfRecord(
    Connection& connection, std::string publication, Coverage now,
    std::string known);

}  // namespace walpost
