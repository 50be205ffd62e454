#include "retention/cursor_gate.h"

#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "polling/cursor_rows.h"
#include "polling/cursor_sql.h"
#include "polling/polled_table.h"
#include "postgres/catalog/table_columns.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<std::string>> ReadPassedSql(
    Connection& connection, TableOptions options, std::string cursor_table) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      pgoutput::RelationSchema schema,
      co_await ReadTableSchema(connection, options.name));
  const absl::StatusOr<PolledTable> table = MakePolledTable(options, schema);
  if (!table.ok()) co_return table.status();
  const CursorSql sql(*table, cursor_table, [&](std::string_view text) {
    return connection.Literal(text);
  });
  const std::string load = sql.Load();
  absl::StatusOr<QueryRows> stored = co_await connection.Execute(load);
  if (SqlstateOf(stored.status()) == kSqlstateUndefinedTable) {
    co_return absl::FailedPreconditionError(fmt::format(
        "there is no cursor table {}, so nothing of {} is known to be sent: "
        "correct polling.cursor_table, or run walpost first",
        cursor_table, options.name));
  }
  if (!stored.ok()) co_return stored.status();
  if (stored->size() == 0) co_return "false";
  const CursorPosition position = CursorPositionFrom(*stored);
  const std::string now = sql.Now();
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows answer,
                              co_await connection.Execute(now));
  const ServerTime time = ServerTimeFrom(answer);
  if (position.IsForeign(time.system_identifier, time.xmin)) {
    co_return absl::UnavailableError(fmt::format(
        "the cursor of {} is of cluster {}, and this is {}: walpost run "
        "publishes what was not published there, then it can be pruned",
        options.name, position.system_identifier, time.system_identifier));
  }
  co_return sql.Passed(position);
}

}  // namespace walpost
