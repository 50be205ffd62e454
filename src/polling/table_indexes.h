// TableIndexes: uses of a table's valid B-tree indexes, as far as their
// definitions show. Only the server knows everything that it can conclude.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "postgres/connect/connection.h"

namespace walpost {

class TableIndexes {
 public:
  // `table` is quoted for SQL.
  static boost::asio::awaitable<absl::StatusOr<TableIndexes>> Read(
      Connection& connection, std::string table);

  // True if an index finds all rows by this column; or rows of some condition.
  bool FindAllBy(std::string_view column) const;
  bool FindSomeBy(std::string_view column) const;
  // True if an index finds all rows that have a value in the column.
  bool FindWhereSet(std::string_view column) const;
  // True if no two rows have the same value in the column.
  bool MakeUnique(std::string_view column) const;
  // True if an index holds only rows of a condition with all these words.
  bool ArePartialBy(std::initializer_list<std::string_view> words) const;
  // True if an index holds only rows with this literal in `column` (not all
  // except those).
  bool ArePartialByValue(std::string_view column,
                         std::string_view literal) const;

 private:
  struct Index {
    std::string first_column;  // empty: an expression
    std::string predicate;     // empty: all rows
    bool is_unique = false;    // in the first column, for all rows
  };

  std::vector<Index> indexes_;
};

}  // namespace walpost
