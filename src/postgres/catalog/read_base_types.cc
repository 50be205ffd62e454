#include "postgres/catalog/read_base_types.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/catalog/table_columns.h"
#include "postgres/connect/relation_oid.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<BaseTypes>> ReadBaseTypes(
    Connection& connection, const OutboxOptions& outbox) {
  const std::string sql = fmt::format(
      "WITH {} SELECT u.oid, {} FROM pg_catalog.pg_type u WHERE u.oid >= 16384 "
      "AND "
      "(u.typtype = 'd' OR u.typcategory = 'S' OR u.oid IN (SELECT a.atttypid "
      "FROM pg_catalog.pg_attribute a WHERE a.attrelid IN (SELECT relation "
      "FROM tables)))",
      TablesSql(connection, outbox.tables), BaseTypeSql("u.oid"));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  BaseTypes types;
  for (size_t i = 0; i < rows.size(); ++i) {
    types.Add(static_cast<uint32_t>(rows.Unsigned(i, 0)),
              static_cast<uint32_t>(rows.Unsigned(i, 1)));
  }
  if (!outbox.debezium) co_return types;
  WALPOST_CO_ASSIGN_OR_RETURN(std::vector<TableColumns> tables,
                              co_await ReadColumns(connection, outbox.tables));
  std::vector<std::vector<pgoutput::ColumnSchema>> columns(tables.size());
  for (size_t i = 0; i < tables.size(); ++i) {
    for (TableColumn& column : tables[i]) {
      columns[i].push_back(std::move(column.schema));
    }
  }
  types.SetColumns(std::move(columns));
  co_return types;
}

}  // namespace walpost
