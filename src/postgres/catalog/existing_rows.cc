#include "postgres/catalog/existing_rows.h"

#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/connect/quote.h"
#include "postgres/connect/sqlstate.h"

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

std::string EstimateSql(const std::string& table_literal) {
  return fmt::format(
      "SELECT coalesce(sum(greatest(reltuples, 0)), 0)::bigint FROM "
      "pg_catalog.pg_class WHERE relkind = 'r' AND (oid = "
      "pg_catalog.to_regclass({0}) OR oid IN (SELECT relid FROM "
      "pg_catalog.pg_partition_tree(pg_catalog.to_regclass({0}))))",
      table_literal);
}

asio::awaitable<absl::StatusOr<ExistingRows>> Count(Connection& connection,
                                                    std::string table,
                                                    std::string condition) {
  ExistingRows rows;
  rows.table = table;
  const std::string literal = connection.Literal(QuoteQualifiedName(table));
  const std::string begin =
      "BEGIN READ ONLY; SET LOCAL statement_timeout = '5s'; SET LOCAL "
      "lock_timeout = '2s'";
  const std::string end = "ROLLBACK";
  absl::StatusOr<QueryRows> result = co_await connection.Execute(begin);
  if (!result.ok()) co_return result.status();
  const std::string estimate = EstimateSql(literal);
  result = co_await connection.Execute(estimate);
  if (result.ok()) {
    rows.estimate = result->Unsigned(0, 0);
    const std::string count = CountSql(table, condition);
    result = co_await connection.Execute(count);
  }
  if (result.ok()) {
    rows.count = result->Unsigned(0, 0);
  } else if (SqlstateOf(result.status()) == kSqlstateUndefinedTable) {
    rows.is_missing = true;  // whoever needs the table reports it
    rows.count = 0;
  } else {
    rows.trouble = std::string(result.status().message());
  }
  result = co_await connection.Execute(end);
  if (!result.ok()) co_return result.status();
  co_return rows;
}

}  // namespace

asio::awaitable<absl::StatusOr<uint64_t>> EstimateRows(Connection& connection,
                                                       std::string table) {
  const std::string sql =
      EstimateSql(connection.Literal(QuoteQualifiedName(table)));
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

asio::awaitable<absl::StatusOr<ExistingRows>> CountExistingRows(
    Connection& connection, std::string table, uint64_t streamed_from) {
  std::string condition = "true";
  if (streamed_from > 0) {
    condition = OlderThan(std::to_string(streamed_from & 0xFFFF'FFFFu));
  }
  co_return co_await Count(connection, std::move(table), std::move(condition));
}

asio::awaitable<absl::StatusOr<ExistingRows>> CountRowsBeforeAttachment(
    Connection& connection, std::string partition, std::string xmin,
    std::string cmin) {
  std::string condition = WrittenBeforeSql(xmin, cmin);
  co_return co_await Count(connection, std::move(partition),
                           std::move(condition));
}

}  // namespace walpost
