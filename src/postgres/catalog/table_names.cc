#include "postgres/catalog/table_names.h"

#include <algorithm>

#include "base/status_macros.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<std::vector<std::string>>> ReadTableNames(
    Connection& connection, const OutboxOptions& outbox) {
  const std::string sql =
      "SELECT n.nspname || '.' || c.relname FROM pg_catalog.pg_class c JOIN "
      "pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN "
      "('r', 'p') AND NOT c.relispartition AND n.nspname NOT LIKE 'pg\\_%' AND "
      "n.nspname <> 'information_schema' ORDER BY 1 LIMIT 100000";
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  std::vector<std::string> names;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string name = rows.Text(i, 0);
    const bool is_listed =
        std::ranges::count(outbox.tables, name, &TableOptions::name) > 0;
    if (!is_listed) names.push_back(name);
  }
  co_return names;
}

}  // namespace walpost
