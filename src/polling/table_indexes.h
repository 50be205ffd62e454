// TableIndexes: what the valid B-tree indexes of a table are good for, as far
// as their definitions tell. The server alone knows all that it can conclude.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "postgres/connection.h"

namespace walpost {

class TableIndexes {
 public:
  // `table` as SQL spells it.
  static boost::asio::awaitable<absl::StatusOr<TableIndexes>> Read(
      Connection& connection, std::string table);

  // Whether any row can be found by this column; or the rows of some condition.
  bool FindAllBy(std::string_view column) const;
  bool FindSomeBy(std::string_view column) const;
  // Whether the rows can that have a value in it.
  bool FindWhereSet(std::string_view column) const;
  // Whether no two rows have the same value in it.
  bool MakeUnique(std::string_view column) const;
  // Whether one holds only the rows of a condition in which all these words
  // are.
  bool ArePartialBy(std::initializer_list<std::string_view> words) const;
  // Whether one holds only rows that have this literal in `column`, not all but
  // those.
  bool ArePartialByValue(std::string_view column,
                         std::string_view literal) const;

 private:
  struct Index {
    std::string first_column;  // empty: an expression
    std::string predicate;     // empty: of all rows
    bool is_unique = false;    // in the first column, of all rows
  };

  std::vector<Index> indexes_;
};

}  // namespace walpost
