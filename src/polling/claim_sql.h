// ClaimSql: all statements of a poller that claims rows, for one table.
//
// A row is claimed if it is pending and due, no earlier row of its aggregate is
// still unpublished (unless that one is claimed with it), and no row of its
// aggregate is held or waits. All of this is one statement:
//
//   blocked    rows that are held, or wait for their next attempt
//   candidate  the first rows of aggregates without a blocked row, locked; rows
//              that another poller has locked are skipped
//   skipped    skipped pending rows before the last candidate; rows of an
//              aggregate with a blocked row stand before no candidate
//   chosen     the candidates that no skipped row stands before
//
// The lease is a column of the row, or a line of a lease table (lease_table.h).
// In a lease table, what is held is looked up there, and no row is written.
//
// Why this keeps the order per aggregate with several pollers: whether a row is
// published is read from the statement's snapshot, and a published row stays
// published. So a row that looks published is published; one that looks
// unpublished delays the rows behind it, at worst for one turn too long.
//
// Each part reads an index of its own, so that its cost is the same beside a
// million published rows and in front of a million pending ones
// (sql/outbox_polling.sql), whatever row counts the planner assumes.
//
// Pure: only makes text.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polling/lease_table.h"
#include "polling/polled_table.h"
#include "polling/table_sql.h"

namespace walpost {

// Value of the lease column, from the server; or the name of the holder in the
// lease table. A statement with a mark excludes rows that another poller has:
// it came too late (with a column, as far as the others' leases are as long as
// ours). Empty: the rows are locked, so no other poller can have them.
using LeaseMark = std::string;

// Where leases are kept beside the rows.
struct LeaseTableOptions {
  std::string table;   // schema.table
  std::string holder;  // see LeaseTable
};

// A rejected row, and the decision about it.
struct RefusedRow {
  std::string id;
  std::string error;
  std::chrono::milliseconds retry_in{0};
  bool give_up = false;
};

class ClaimSql : public TableSql {
 public:
  // `quote` makes a text an SQL literal. Without `lease_table`, leases are in
  // the table's own column.
  ClaimSql(const PolledTable& table, std::chrono::milliseconds lease,
           Quote quote,
           const std::optional<LeaseTableOptions>& lease_table = {});

  // Claims at most `limit` rows and returns their columns, in order. `waiting`:
  // ids that this poller does not want yet. Rows that another poller has locked
  // block their aggregates: if all of the first `limit` rows wait for such
  // rows, up to `far` rows of other aggregates are considered.
  std::string Claim(size_t limit, Ids waiting, size_t far = 0) const;
  // Claims the same rows for less, in a transaction of its own, if no other
  // session has locked or changed one of them since it began. Else it fails
  // (SQLSTATE 55P03 or 40001) and claims nothing; use Claim.
  std::string ClaimUndisturbed(size_t limit, Ids waiting) const;
  // Locks the same rows instead, until the end of the transaction.
  std::string Lock(size_t limit, Ids waiting, size_t far = 0) const;

  // Renews the lease from now on. Returns the id and the LeaseMark of each row
  // that is still ours.
  std::string Renew(Ids ids, const LeaseMark& mark) const;
  // Makes rows with an expired lease pending again; empty: not needed.
  std::string ReturnExpired() const;
  // Marks rows published, whoever holds them. No empty `ids`, here and below.
  std::string MarkPublished(Ids ids) const;
  std::string Delete(Ids ids) const;
  // Makes rows pending again at once: they were not the problem. Empty: they
  // are free when they are no longer kept.
  std::string Release(Ids ids, const LeaseMark& mark) const;
  // Frees all of our rows but these; empty: the table has their leases.
  std::string KeepOnly(Ids ids) const;
  // Stores a rejection; empty: the table has no column for it.
  std::string Refuse(const RefusedRow& row, const LeaseMark& mark = {}) const;

  // Name of the lease column, not quoted; empty: rows are held only by their
  // locks, or in the lease table.
  const std::string& lease_column() const;

  // True if Refuse can store the time of the next attempt in the table.
  bool keeps_retry_time() const;

 private:
  std::string Claimable(std::string_view alias, Ids waiting) const;
  std::string PendingBeside(std::string_view alias,
                            std::string_view column) const;
  // Expressions for a row's place: in the table, or in a part of the statement.
  struct Keys {
    std::string id;
    std::string place;
    std::vector<std::string> aggregate;
  };
  Keys TableKeys(std::string_view alias) const;
  Keys PartKeys(std::string_view alias) const;
  std::string LeaseKey(const Keys& row) const;
  std::string SelectKeys(std::string_view alias) const;
  std::string StandsBefore(const Keys& earlier, const Keys& row) const;
  std::string Blocked(Ids waiting) const;
  std::string AggregateNotIn(std::string_view part, const Keys& row) const;
  // The condition that a row is of no aggregate in these parts.
  std::string OfOthers(std::string_view alias,
                       const std::vector<std::string>& passed) const;
  // Begins a statement; adds its first part to `passed`, if there is one.
  std::string WithBlocked(Ids waiting, std::vector<std::string>& passed) const;
  std::string With(size_t limit, Ids waiting, size_t far) const;
  std::string UpdateChosen() const;
  std::string SelectChosen() const;
  // The end of a SELECT: locks this many of the rows found, in order.
  std::string LockFirst(size_t limit, std::string_view if_locked) const;
  // One look: candidate{}; the rows it skipped: skipped{}; and clear{}: the
  // candidates that wait for no skipped row. It excludes the aggregates of
  // `passed`, which are other parts.
  std::string Look(std::string_view number, const std::string& claimable,
                   const std::vector<std::string>& passed, size_t limit) const;
  std::string SetLease() const;
  std::string Update(std::string_view assignments, Ids ids,
                     const LeaseMark& mark = {}) const;
  bool pending_may_be_locked() const;

  std::chrono::milliseconds lease_;
  std::optional<LeaseTable> lease_table_;
};

}  // namespace walpost
