// IndexCheck: the indexes that polling a table needs.
//
// Without one of them each look at the table would read all of it (an error),
// or all of the backlog (a warning: nobody notices until there is one).
//
// Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "polling/polled_table.h"
#include "polling/polling_options.h"
#include "polling/table_indexes.h"

namespace walpost {

class IndexCheck {
 public:
  struct Missing {
    Severity severity;
    std::string text;
    std::string remedy;  // SQL
  };
  using Quote = std::function<std::string(std::string_view)>;  // a literal

  // `table` outlives this object.
  IndexCheck(const PolledTable& table, PollingOptions::Strategy strategy,
             bool is_partitioned, Quote quote);

  std::vector<Missing> Run(const TableIndexes& indexes) const;

 private:
  using Strategy = PollingOptions::Strategy;

  void CheckCursor(const TableIndexes& indexes,
                   std::vector<Missing>& missing) const;
  void CheckPending(const TableIndexes& indexes,
                    std::vector<Missing>& missing) const;
  void CheckHeld(const TableIndexes& indexes,
                 std::vector<Missing>& missing) const;
  void CheckWaiting(const TableIndexes& indexes,
                    std::vector<Missing>& missing) const;

  // The rows that a poller looks for.
  std::string Pending() const;
  // The statement that makes one.
  std::string Create(std::string_view kind,
                     const std::vector<std::string>& columns,
                     std::string_view predicate = "") const;

  const PolledTable& table_;
  Strategy strategy_;
  bool is_partitioned_;
  Quote quote_;
};

}  // namespace walpost
