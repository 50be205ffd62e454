#include "postgres/catalog/existing_rows.h"

#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/connect/quote.h"
#include "postgres/connect/relation_oid.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// "1,234,567".
std::string Grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

// Selects rows of transactions before `xid`. age() compares 32-bit ids; it is
// negative for a row that was frozen long ago.
std::string OlderThan(std::string_view xid) {
  return fmt::format(
      "pg_catalog.age(xmin) < 0 OR pg_catalog.age(xmin) > "
      "pg_catalog.age('{}'::xid)",
      xid);
}

std::string CountSql(const std::string& table, const std::string& condition) {
  return fmt::format(
      "SELECT count(*) FROM (SELECT FROM {} WHERE {} LIMIT {}) existing",
      QuoteQualifiedName(table), condition, ExistingRows::kLimit + 1);
}

std::string EstimateSql(Connection& connection, const std::string& table) {
  return fmt::format(
      "SELECT coalesce(sum(greatest(reltuples, 0)), 0)::bigint FROM "
      "pg_catalog.pg_class WHERE relkind = 'r' AND (oid = {0} OR oid IN "
      "(SELECT relid FROM pg_catalog.pg_partition_tree({0}::regclass)))",
      RelationOidSql(connection, table));
}

// Each has an outcome, and no lock on a table outlives its own statement.
asio::awaitable<absl::StatusOr<std::vector<ExistingRows>>> Count(
    Connection& connection, std::vector<std::string> tables,
    std::string condition) {
  const std::string begin =
      "BEGIN READ ONLY; SET LOCAL statement_timeout = '5s'; SET LOCAL "
      "lock_timeout = '2s'; SAVEPOINT counted";
  const std::string end = "ROLLBACK";
  absl::StatusOr<QueryRows> result = co_await connection.Execute(begin);
  if (!result.ok()) co_return result.status();
  constexpr size_t kStatements = 3;  // for each table
  std::vector<std::string> statements;
  for (const std::string& table : tables) {
    statements.push_back(EstimateSql(connection, table));
    statements.push_back(CountSql(table, condition));
    statements.push_back("ROLLBACK TO SAVEPOINT counted");
  }
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<absl::StatusOr<QueryRows>> results,
      co_await connection.ExecuteEach(std::move(statements)));
  result = co_await connection.Execute(end);
  if (!result.ok()) co_return result.status();
  std::vector<ExistingRows> counted;
  for (size_t i = 0; i < tables.size(); ++i) {
    ExistingRows& rows = counted.emplace_back();
    rows.table = tables[i];
    const absl::StatusOr<QueryRows>& estimate = results[i * kStatements];
    const absl::StatusOr<QueryRows>& count = results[i * kStatements + 1];
    const absl::Status failed =
        estimate.ok() ? count.status() : estimate.status();
    if (estimate.ok()) rows.estimate = estimate->Unsigned(0, 0);
    if (failed.ok()) {
      rows.count = count->Unsigned(0, 0);
    } else if (SqlstateOf(failed) == kSqlstateUndefinedTable) {
      rows.is_missing = true;  // whoever needs the table reports it
      rows.count = 0;
    } else {
      rows.trouble = std::string(failed.message());
    }
  }
  co_return counted;
}

}  // namespace

asio::awaitable<absl::StatusOr<uint64_t>> EstimateRows(Connection& connection,
                                                       std::string table) {
  const std::string sql = EstimateSql(connection, table);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  co_return rows.Unsigned(0, 0);
}

std::string WrittenBeforeSql(std::string_view xmin, std::string_view cmin) {
  return fmt::format("{} OR (xmin = '{}'::xid AND cmin::text::bigint < {})",
                     OlderThan(xmin), xmin, cmin);
}

std::string ExistingRows::ToString() const {
  // Without statistics yet, the estimate is 0.
  if (!count && estimate == 0) return "an unknown number of rows";
  if (!count) {
    return fmt::format("about {} rows by the statistics", Grouped(estimate));
  }
  if (*count <= kLimit) {
    return fmt::format("{} row{}", Grouped(*count), *count == 1 ? "" : "s");
  }
  return fmt::format("more than {} rows (about {} by the statistics)",
                     Grouped(kLimit), Grouped(estimate));
}

asio::awaitable<absl::StatusOr<std::vector<ExistingRows>>> CountExistingRows(
    Connection& connection, std::vector<std::string> tables,
    uint64_t streamed_from) {
  std::string condition = "true";
  if (streamed_from > 0) {
    condition = OlderThan(std::to_string(streamed_from & 0xFFFF'FFFFu));
  }
  co_return co_await Count(connection, std::move(tables), std::move(condition));
}

asio::awaitable<absl::StatusOr<ExistingRows>> CountRowsBeforeAttachment(
    Connection& connection, std::string partition, std::string xmin,
    std::string cmin) {
  std::vector<std::string> tables = {std::move(partition)};
  std::string condition = WrittenBeforeSql(xmin, cmin);
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::vector<ExistingRows> rows,
      co_await Count(connection, std::move(tables), std::move(condition)));
  co_return std::move(rows.front());
}

}  // namespace walpost
