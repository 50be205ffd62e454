// ClaimSql: every statement of a poller that claims rows, for one table.
//
// A row is claimed when it is pending, due, no earlier row of its aggregate is
// still unpublished, unless that one is claimed with it, and none at all is
// held or waits. All of it is one statement:
//
//   blocked    rows that are held, or wait for their next attempt
//   candidate  the first rows of aggregates without a blocked one, locked; rows
//              that another poller has locked are passed over
//   skipped    pending rows among them that were passed over
//   chosen     the candidates that no skipped row stands before
//
// Why that keeps the order per aggregate with several pollers: whether a row is
// published is read from the statement's snapshot, and a published row stays
// published. So a row that looks published is; one that looks unpublished holds
// up those behind it, at worst for one turn longer than it had to.
//
// Each part reads an index of pending rows, so that it costs the same beside a
// million published ones (sql/outbox_polling.sql).
//
// Pure: makes text and nothing else.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polling/polled_table.h"
#include "polling/polling_options.h"

namespace walpost {

// A row that was refused, and what becomes of it.
struct RefusedRow {
  std::string id;
  std::string error;
  std::chrono::milliseconds retry_in{0};
  bool give_up = false;
};

class ClaimSql {
 public:
  using Quote = std::function<std::string(std::string_view)>;
  using Ids = std::span<const std::string>;

  // `quote` makes an SQL literal of a text.
  ClaimSql(const PolledTable& table, std::chrono::milliseconds lease,
           Quote quote);

  // Claims at most `limit` rows and gives their columns, in order. `held` are
  // ids that this poller does not want yet.
  std::string Claim(size_t limit, Ids held) const;
  // The same rows, only locked, for as long as the transaction is open.
  std::string Lock(size_t limit, Ids held) const;

  // From now on, for the length of a lease.
  std::string Renew(Ids ids) const;
  // Rows whose lease has ended are pending again; empty: that shows by itself.
  std::string ReturnExpired() const;
  // Published; `ids` is not empty, here and below.
  std::string MarkPublished(Ids ids) const;
  std::string Delete(Ids ids) const;
  // Pending again, at once: nothing was wrong with them.
  std::string Release(Ids ids) const;
  // Empty: the table has no column that could say so.
  std::string Refuse(const RefusedRow& row) const;

  // Whether Refuse can keep the time of the next attempt in the table.
  bool keeps_retry_time() const;

  // One row: pending, failed (both counted up to kMostCounted), the id of the
  // first pending one, and the age in seconds of it where `timestamp` is a
  // column, else NULL.
  static constexpr int kMostCounted = 100'000;
  std::string Gauges(std::string_view timestamp) const;

 private:
  std::string Column(std::string_view alias, std::string_view name) const;
  std::string Order(std::string_view alias) const;
  std::string In(std::string_view alias, Ids ids) const;
  std::string Pending(std::string_view alias) const;
  std::string Claimable(std::string_view alias, Ids held) const;
  std::string Unpublished(std::string_view alias) const;
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
  std::string Blocked(Ids held) const;
  std::string NotBlocked() const;
  std::string With(size_t limit, Ids held) const;
  std::string Update(std::string_view assignments, Ids ids) const;
  std::string Now(std::chrono::milliseconds from_now) const;
  bool marks_processing() const;
  bool pending_may_be_locked() const;

  const PolledTable& table_;
  std::chrono::milliseconds lease_;
  Quote quote_;
  std::string name_;  // quoted
};

}  // namespace walpost
