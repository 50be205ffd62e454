// The statements that delete old rows. Pure.
//
// A batch walks the index on the time column and starts where the last batch
// ended, so it meets none of the dead entries left behind:
//
//   WITH batch AS (SELECT ctid ... WHERE time >= from AND time < limit
//                  AND <sent> ORDER BY time LIMIT n)
//   DELETE ... USING batch WHERE ctid = batch.ctid
//
// A row that somebody changes between the two has another ctid by then, and
// stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "outbox/row_state_options.h"

namespace walpost {

// A table without partitions. All members except `limit` are SQL.
struct PruneRule {
  std::string table;
  std::string time_column;
  // Condition of the rows that were sent, with the table as `o`.
  std::string sent;
  // Condition of the rows that came through the slot, confirmed or not
  // (CoveredSql); `true` if the slot is not the proof.
  std::string covered = "true";
  // Older rows are deleted: a timestamp as the server printed it.
  std::string limit;
};

// Condition of rows whose transaction had ended before a snapshot was taken;
// takes the oldest transaction id that the snapshot saw running (xid8).
//
// xmin has 32 bits and is compared like in the server, by its distance from
// now. All visible rows are older than now: one that seems younger was written
// two billion transactions ago. So a row may seem too young to be deleted, but
// never old enough when it is not.
std::string CommittedBeforeSql(std::string_view oldest_running);

// Selects rows of one table that surely came through the slot, or were
// published when the slot was created.
struct CoveredRule {
  // From the birth record. 0: nothing is proven.
  uint64_t streamed_from = 0;
  WallTime born_at{};
  std::string time_column;  // SQL
  // True for a timestamptz. Other types hold a local time of an unknown zone.
  bool time_has_zone = true;
  // A partition's oid; 0: not a partition.
  uint64_t partition = 0;
  // The operator's statement: rows before it were sent. A timestamp as the
  // server printed it; empty: none.
  std::string assumed_before;
  // With postgres.origin: none, the condition that a row's origin is not known
  // (outbox/row_origin.h); empty: it does not matter.
  std::string origin_is_unknown;
};

// Condition of these rows. Two fences must both hold:
//
//   xmin >= streamed_from    transactions that were open when the slot was
//                            created, or earlier ones, did not come through it
//   time >= born_at          an UPDATE, or an ALTER TABLE that rewrites the
//                            table, gives an old row a young xmin
//
// A partition has a third: xmin is younger than the transaction that attached
// it, because rows written into the table earlier were not published. With
// postgres.origin: none, the slot has also confirmed rows that were skipped. A
// replicated row is another node's to send, but it must be known that it was
// replicated.
//
// xmin has 32 bits. It is taken for the youngest transaction that it may name,
// which is exact for four billion transactions; for older rows, the time
// remains as a fence.
std::string CoveredSql(const CoveredRule& rule);

// Condition of rows whose state says that they were published; failed rows were
// not. `published_literal` is the status value as SQL; the server gives it the
// type of the column.
std::string PublishedSql(const RowStateOptions& state,
                         const std::string& published_literal);

// Deletes at most `rows` rows. Returns their number and the time of the last
// one, for `from` of the next batch. Empty `from`: start at the beginning.
std::string DeleteBatchSql(const PruneRule& rule, std::string_view from,
                           size_t rows);

// Counts old rows: sent, not sent, and not covered among the latter.
std::string CountOldSql(const PruneRule& rule);

// Counts the same for all rows of a partition, whatever their age.
std::string CountUnsentSql(const PruneRule& rule);

// True if these pages of a partition contain a row that was not sent.
std::string UnsentInPagesSql(const PruneRule& rule, uint64_t from, uint64_t to);

}  // namespace walpost
