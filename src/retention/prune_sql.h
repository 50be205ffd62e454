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
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "outbox/row_state_options.h"

namespace walpost {

// Of one table that has no partitions. All but `limit` is SQL.
struct PruneRule {
  std::string table;
  std::string time_column;
  // Condition of the rows that were sent; the table is `o` in it.
  std::string sent;
  // Condition of the rows that came through the slot, confirmed or not
  // (CoveredSql); `true` where it is not the slot that proves it.
  std::string covered = "true";
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

// Which rows of one table are sure to have come through the slot, or were
// published when the slot was made.
struct CoveredRule {
  // Of the birth record. 0: nothing is proven.
  uint64_t streamed_from = 0;
  WallTime born_at{};
  std::string time_column;  // SQL
  // Whether that is a timestamptz. The others tell a local time of an unknown
  // zone.
  bool time_has_zone = true;
  // A partition's oid; 0: not a partition.
  uint64_t partition = 0;
  // The operator's word: rows before it were sent. A timestamp as the server
  // printed it; empty: no such word.
  std::string assumed_before;
};

// The condition of these rows. Two fences, and both must hold:
//
//   xmin >= streamed_from    transactions that were open when the slot was
//                            made, or earlier ones, did not come through it
//   time >= born_at          an UPDATE, or an ALTER TABLE that rewrites the
//                            table, gives an old row a young xmin
//
// A partition has a third: xmin is younger than the transaction that attached
// it, because what was written into the table before then was not published.
//
// xmin has 32 bits. It is taken for the youngest transaction that it may name,
// which is exact for four billion transactions; of a row older than that, the
// time remains as a fence.
std::string CoveredSql(const CoveredRule& rule);

// The condition of rows whose state says that they were published; what has
// failed was not. `published_literal` is the value of the status as SQL; the
// server gives it the type of the column.
std::string PublishedSql(const RowStateOptions& state,
                         const std::string& published_literal);

// Deletes at most `rows` rows. Returns their number and the time of the last,
// for `from` of the next batch; empty: from the beginning.
std::string DeleteBatchSql(const PruneRule& rule, std::string_view from,
                           size_t rows);

// Returns how many old rows were sent, how many were not, and how many of those
// are not covered.
std::string CountOldSql(const PruneRule& rule);

// Counts the same of all rows of a partition, whatever their age.
std::string CountUnsentSql(const PruneRule& rule);

// Whether a row that was not sent lies in these pages of a partition.
std::string UnsentInPagesSql(const PruneRule& rule, uint64_t from, uint64_t to);

}  // namespace walpost
