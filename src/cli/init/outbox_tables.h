// OutboxTables: finds or makes the tables of outbox.tables, for `walpost init`.
//
// A name that is a slip must not become an empty table that is published. So a
// table is made only if it would have the columns that the configuration names,
// and if no other table has a similar name.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/init/init_sql.h"
#include "config/config.h"
#include "outbox/route.h"
#include "postgres/connect/connection.h"

namespace walpost {

class OutboxTables {
 public:
  // All arguments outlive the object.
  OutboxTables(Connection& connection, const Config& config,
               const std::vector<Route>& routes)
      : connection_(connection), config_(config), routes_(routes) {}

  // Makes the missing ones; prints what was done. kFailedPrecondition: a name
  // looks like a slip, or the role may not make the table.
  boost::asio::awaitable<absl::Status> Make();

 private:
  boost::asio::awaitable<absl::Status> CheckMissing(size_t index);
  boost::asio::awaitable<absl::Status> MakeTable(size_t index);
  boost::asio::awaitable<absl::Status> Execute(std::string sql);
  std::vector<std::string> ForeignColumns(size_t index) const;

  Connection& connection_;
  const Config& config_;
  const std::vector<Route>& routes_;
};

// Puts tables on record that are new in outbox.tables: such a table is not
// passed over by a walpost that does not have it yet, and may not write the
// record (PassedOverRows). `config` outlives the coroutine.
boost::asio::awaitable<absl::Status> AnnounceNewTables(Connection& connection,
                                                       const Config& config);

// The objects that exist, for InitSql. Errors are in `unknown`.
boost::asio::awaitable<ExistingObjects> FindExistingObjects(
    boost::asio::any_io_executor executor, const Config& config);

}  // namespace walpost
