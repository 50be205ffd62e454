// TableIndexes: what the valid indexes of a table are good for.
#pragma once

#include <boost/asio/awaitable.hpp>
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
  // Whether one holds only the rows that a condition on this column selects.
  bool ArePartialBy(std::string_view column) const;

 private:
  struct Index {
    std::string first_column;  // empty: an expression
    std::string predicate;     // empty: of all rows
    bool is_unique = false;    // in the first column, of all rows
  };

  std::vector<Index> indexes_;
};

}  // namespace walpost
