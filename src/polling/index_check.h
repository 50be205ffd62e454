// IndexCheck: the indexes that polling a table needs.
//
// Without one of them each look at the table would read all of it (an error),
// or all of the backlog (a warning: unnoticed until there is a backlog).
//
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "polling/polled_table.h"
#include "polling/polling_options.h"
#include "polling/table_indexes.h"
#include "polling/table_sql.h"

namespace walpost {

class IndexCheck : private TableSql {
 public:
  using Strategy = PollingOptions::Strategy;
  using TableSql::Quote;

  // `table` outlives this object.
  IndexCheck(const PolledTable& table, Strategy strategy, bool is_partitioned,
             Quote quote);

  // Call it once.
  Findings Run(const TableIndexes& indexes);

 private:
  void CheckCursor(const TableIndexes& indexes);
  void CheckPending(const TableIndexes& indexes);
  void CheckHeld(const TableIndexes& indexes);
  void CheckWaiting(const TableIndexes& indexes);
  void CheckFailed(const TableIndexes& indexes);
  void Need(Severity severity, FindingId id, std::string text,
            std::string remedy);

  std::string AllButPublished() const;
  // The statement that creates one.
  std::string Create(std::string_view kind,
                     const std::vector<std::string>& columns,
                     std::string_view predicate = "") const;

  Strategy strategy_;
  bool is_partitioned_;
  Findings findings_;
};

}  // namespace walpost
