#include "postgres/tables/updated_rows.h"

#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/table_mapper.h"
#include "postgres/connect/relation_oid.h"
#include "postgres/tables/table_scan.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<std::vector<UpdateDetector::Total>>>
ReadUpdateTotals(Connection& connection,
                 const std::vector<TableOptions>& tables) {
  const std::string sql = fmt::format(
      "WITH {} SELECT number, relid::oid, "
      "pg_catalog.pg_stat_get_tuples_updated(relid) FROM tables CROSS JOIN "
      "LATERAL (SELECT relid FROM pg_catalog.pg_partition_tree(relation) UNION "
      "SELECT relation) tree WHERE relid IS NOT NULL",
      TablesSql(connection, tables));
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await connection.Execute(sql));
  std::vector<UpdateDetector::Total> totals;
  for (size_t i = 0; i < rows.size(); ++i) {
    totals.push_back(
        {rows.Unsigned(i, 0), rows.Unsigned(i, 1), rows.Unsigned(i, 2)});
  }
  co_return totals;
}

asio::awaitable<absl::StatusOr<UpdateDetector::Comparison>> CompareWithSample(
    Connection& connection, const TableOptions& table, size_t source,
    std::span<const std::string> references, const PublishedSample& sample) {
  TableFilter filter;
  filter.ids = sample.ids(source);
  TableScan scan(connection, table, std::move(filter));
  WALPOST_CO_RETURN_IF_ERROR(co_await scan.Open());
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::unique_ptr<TableMapper> mapper,
      TableMapper::Create(table, scan.schema(), references));
  UpdateDetector::Comparison comparison;
  while (true) {
    WALPOST_CO_ASSIGN_OR_RETURN(const size_t rows, co_await scan.Fetch());
    if (rows == 0) break;
    for (size_t i = 0; i < rows; ++i) {
      Event event;
      event.source = source;
      const absl::Status mapped = mapper->Map(scan.Row(i), event);
      ++comparison.rows;
      if (!mapped.ok() || sample.Differs(event)) ++comparison.different;
    }
  }
  co_return comparison;
}

}  // namespace walpost
