// The statements that delete old rows. Pure.
//
// A batch walks the index on the time column and starts where the one before
// it ended, so it meets none of the dead entries that those left behind:
//
//   WITH batch AS (SELECT ctid ... WHERE time >= from AND time < limit
//                  AND <sent> ORDER BY time LIMIT n)
//   DELETE ... USING batch WHERE ctid = batch.ctid
//
// A row that somebody changes between the two is another row by then (another
// ctid), and stays.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "outbox/row_state_options.h"

namespace walpost {

// Of one table that has no partitions. All but `limit` is SQL.
struct PruneRule {
  std::string table;
  std::string time_column;
  // Condition of the rows that were sent; the table is `o` in it.
  std::string sent;
  // Older than this goes: a timestamp as the server printed it.
  std::string limit;
};

// The condition of rows whose transaction had ended before a snapshot was
// taken, by the oldest transaction id that the snapshot saw running (xid8).
//
// xmin has 32 bits and is compared as the server does it, by its distance from
// now. All that we can see is older than now: what seems younger was written
// two billion transactions ago. So a row may seem too young to be deleted, but
// never old enough when it is not.
std::string CommittedBeforeSql(std::string_view oldest_running);

// The condition of rows whose state says that they were published; what has
// failed was not. `published_literal` is the value of the status as SQL; the
// server gives it the type of the column.
std::string PublishedSql(const RowStateOptions& state,
                         const std::string& published_literal);

// Deletes at most `rows` rows. Returns their number and the time of the last,
// for `from` of the next batch; empty: from the beginning.
std::string DeleteBatchSql(const PruneRule& rule, std::string_view from,
                           size_t rows);

// Returns how many old rows were sent, and how many were not.
std::string CountOldSql(const PruneRule& rule);

}  // namespace walpost
