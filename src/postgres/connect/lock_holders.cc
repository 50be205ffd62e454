#include "postgres/connect/lock_holders.h"

#include "fmt/format.h"
#include "postgres/connect/quote.h"

namespace walpost {

boost::asio::awaitable<std::string> DescribeLockHolders(Connection& connection,
                                                        std::string table) {
  const std::string sql = fmt::format(
      "SELECT string_agg(DISTINCT format('session %s (%s, %s): %s', a.pid, "
      "coalesce(nullif(a.application_name, ''), a.usename), a.state, "
      "left(a.query, 100)), '; ') FROM pg_catalog.pg_locks l JOIN "
      "pg_catalog.pg_stat_activity a USING (pid) WHERE l.relation = "
      "to_regclass({}) AND l.granted AND l.database = (SELECT oid FROM "
      "pg_catalog.pg_database WHERE datname = current_database()) AND l.mode "
      "IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', "
      "'AccessExclusiveLock') AND l.pid <> pg_backend_pid()",
      connection.Literal(QuoteQualifiedName(table)));
  const absl::StatusOr<QueryRows> rows = co_await connection.Execute(sql);
  co_return rows.ok() ? rows->Text(0, 0) : std::string();
}

}  // namespace walpost
