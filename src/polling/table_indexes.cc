#include "polling/table_indexes.h"

#include <algorithm>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

bool Has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

// True if a predicate, as the server writes it, follows from `column` having a
// value: it says just that, or that OR something else.
bool IsTrueWhereSet(std::string_view predicate, std::string_view column) {
  for (const char* quote : {"", "\""}) {
    const std::string is_set =
        fmt::format("({1}{0}{1} IS NOT NULL)", column, quote);
    if (predicate == is_set) return true;
    if (Has(predicate, " AND ") || Has(predicate, "NOT (")) continue;
    if (Has(predicate, is_set + " OR ") || Has(predicate, " OR " + is_set)) {
      return true;
    }
  }
  return false;
}

}  // namespace

asio::awaitable<absl::StatusOr<TableIndexes>> TableIndexes::Read(
    Connection& connection, std::string table) {
  const std::string sql = fmt::format(
      "SELECT a.attname, pg_get_expr(i.indpred, i.indrelid), "
      "i.indisunique AND i.indpred IS NULL AND i.indnkeyatts = 1 FROM "
      "pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = "
      "i.indexrelid "
      "JOIN pg_catalog.pg_am m ON m.oid = c.relam AND m.amname = 'btree' "
      "LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND "
      "a.attnum = i.indkey[0] WHERE i.indrelid = {}::regclass AND i.indisvalid",
      connection.Literal(table));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  TableIndexes found;
  for (size_t i = 0; i < rows.size(); ++i) {
    Index& index = found.indexes_.emplace_back();
    index.first_column = rows.Text(i, 0);
    index.predicate = rows.Text(i, 1);
    index.is_unique = rows.Bool(i, 2);
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
  return std::ranges::any_of(indexes_, [column](const Index& index) {
    return index.first_column == column &&
           (index.predicate.empty() || IsTrueWhereSet(index.predicate, column));
  });
}

bool TableIndexes::MakeUnique(std::string_view column) const {
  return std::ranges::any_of(indexes_, [column](const Index& index) {
    return index.first_column == column && index.is_unique;
  });
}

bool TableIndexes::ArePartialByValue(std::string_view column,
                                     std::string_view literal) const {
  const std::string all_others = fmt::format("<> {}", literal);
  return std::ranges::any_of(indexes_, [&](const Index& index) {
    return Has(index.predicate, column) && Has(index.predicate, literal) &&
           !Has(index.predicate, all_others);
  });
}

bool TableIndexes::ArePartialBy(
    std::initializer_list<std::string_view> words) const {
  return std::ranges::any_of(indexes_, [words](const Index& index) {
    return std::ranges::all_of(words, [&index](std::string_view word) {
      return Has(index.predicate, word);
    });
  });
}

}  // namespace walpost
