// ClaimSql: every statement of a poller that claims rows, for one table.
//
// A row is claimed when it is pending, due, no earlier row of its aggregate is
// still unpublished, unless that one is claimed with it, and none at all is
// held or waits. All of it is one statement:
//
//   blocked    rows that are held, or wait for their next attempt
//   candidate  the first rows of aggregates without a blocked one, locked; rows
//              that another poller has locked are passed over
//   skipped    pending rows before the last of them that were passed over;
//   those
//              of an aggregate with a blocked one stand before no candidate
//   chosen     the candidates that no skipped row stands before
//
// Why that keeps the order per aggregate with several pollers: whether a row is
// published is read from the statement's snapshot, and a published row stays
// published. So a row that looks published is; one that looks unpublished holds
// up those behind it, at worst for one turn longer than it had to.
//
// Each part reads an index of its own, so that it costs the same beside a
// million published rows and in front of a million pending ones
// (sql/outbox_polling.sql), whatever the planner believes of their numbers.
//
// Pure: makes text and nothing else.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "polling/polled_table.h"
#include "polling/table_sql.h"

namespace walpost {

// The lease column's value, as the server gave it. A statement that has one
// leaves out rows whose lease is later: it came too late, and somebody else has
// them (whose leases are as long as ours). Empty: the rows are locked, nobody
// can.
using LeaseMark = std::string;

// A row that was refused, and what becomes of it.
struct RefusedRow {
  std::string id;
  std::string error;
  std::chrono::milliseconds retry_in{0};
  bool give_up = false;
};

class ClaimSql : public TableSql {
 public:
  // `quote` makes an SQL literal of a text.
  ClaimSql(const PolledTable& table, std::chrono::milliseconds lease,
           Quote quote);

  // Claims at most `limit` rows and gives their columns, in order. `waiting`
  // are ids that this poller does not want yet. Rows that somebody else has
  // locked hold up their aggregates: should all of the first `limit` wait for
  // such, up to `far` rows of other aggregates are looked at.
  std::string Claim(size_t limit, Ids waiting, size_t far = 0) const;
  // The same rows, only locked, for as long as the transaction is open.
  std::string Lock(size_t limit, Ids waiting, size_t far = 0) const;

  // From now on, for the length of a lease. Gives the id and the LeaseMark of
  // each row that is ours still.
  std::string Renew(Ids ids, const LeaseMark& mark) const;
  // Rows whose lease has ended are pending again; empty: that shows by itself.
  std::string ReturnExpired() const;
  // Published, whoever has them; `ids` is not empty, here and below.
  std::string MarkPublished(Ids ids) const;
  std::string Delete(Ids ids) const;
  // Pending again, at once: nothing was wrong with them.
  std::string Release(Ids ids, const LeaseMark& mark) const;
  // Empty: the table has no column that could say so.
  std::string Refuse(const RefusedRow& row, const LeaseMark& mark = {}) const;

  // Not quoted; empty: rows are held by their locks alone.
  const std::string& lease_column() const;

  // Whether Refuse can keep the time of the next attempt in the table.
  bool keeps_retry_time() const;

 private:
  std::string Claimable(std::string_view alias, Ids waiting) const;
  std::string PendingBeside(std::string_view alias,
                            std::string_view column) const;
  // What says where a row stands: of the table, or of one of our own parts.
  struct Keys {
    std::string id;
    std::string place;
    std::vector<std::string> aggregate;
  };
  Keys TableKeys(std::string_view alias) const;
  Keys PartKeys(std::string_view alias) const;
  std::string SelectKeys(std::string_view alias) const;
  std::string StandsBefore(const Keys& earlier, const Keys& row) const;
  std::string Blocked(Ids waiting) const;
  std::string AggregateNotIn(std::string_view part, const Keys& row) const;
  std::string With(size_t limit, Ids waiting, size_t far) const;
  // The end of a SELECT: locks that many of what it finds, in order.
  std::string LockFirst(size_t limit) const;
  // One look: candidate{}, what it passed by: skipped{}, and clear{}: those
  // candidates that wait for nothing that was passed by. It leaves out the
  // aggregates of `passed`, which are other parts.
  std::string Look(std::string_view number, const std::string& claimable,
                   const std::vector<std::string>& passed, size_t limit) const;
  std::string SetLease() const;
  std::string Update(std::string_view assignments, Ids ids,
                     const LeaseMark& mark = {}) const;
  bool pending_may_be_locked() const;

  std::chrono::milliseconds lease_;
};

}  // namespace walpost
