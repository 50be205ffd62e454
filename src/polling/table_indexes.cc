#include "polling/table_indexes.h"

#include <algorithm>

#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<TableIndexes>> TableIndexes::Read(
    Connection& connection, std::string table) {
  const std::string sql = fmt::format(
      "SELECT a.attname, pg_get_expr(i.indpred, i.indrelid), "
      "i.indisunique AND i.indpred IS NULL AND i.indnkeyatts = 1 FROM "
      "pg_catalog.pg_index i LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid "
      "= i.indrelid AND a.attnum = i.indkey[0] WHERE i.indrelid = "
      "{}::regclass AND i.indisvalid",
      connection.Literal(table));
  absl::StatusOr<QueryRows> rows = co_await connection.Execute(sql);
  if (!rows.ok()) co_return rows.status();
  TableIndexes found;
  for (size_t i = 0; i < rows->size(); ++i) {
    Index& index = found.indexes_.emplace_back();
    index.first_column = rows->Text(i, 0);
    index.predicate = rows->Text(i, 1);
    index.is_unique = rows->Bool(i, 2);
  }
  co_return found;
}

bool TableIndexes::FindAllBy(std::string_view column) const {
  return std::ranges::any_of(indexes_, [column](const Index& index) {
    return index.first_column == column && index.predicate.empty();
  });
}

bool TableIndexes::FindSomeBy(std::string_view column) const {
  return std::ranges::any_of(indexes_, [column](const Index& index) {
    return index.first_column == column;
  });
}

bool TableIndexes::FindWhereSet(std::string_view column) const {
  const std::string has_value = fmt::format("({} IS NOT NULL)", column);
  const std::string quoted = fmt::format("(\"{}\" IS NOT NULL)", column);
  return std::ranges::any_of(indexes_, [&](const Index& index) {
    const std::string& predicate = index.predicate;
    if (index.first_column != column) return false;
    if (predicate.empty()) return true;
    return predicate.find(" AND ") == std::string::npos &&
           (predicate.find(has_value) != std::string::npos ||
            predicate.find(quoted) != std::string::npos);
  });
}

bool TableIndexes::MakeUnique(std::string_view column) const {
  return std::ranges::any_of(indexes_, [column](const Index& index) {
    return index.first_column == column && index.is_unique;
  });
}

bool TableIndexes::ArePartialBy(std::string_view column) const {
  return std::ranges::any_of(indexes_, [column](const Index& index) {
    return index.predicate.find(column) != std::string::npos;
  });
}

}  // namespace walpost
