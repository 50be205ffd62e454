#include "polling/claim_sql.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "postgres/catalog/table_rows.h"
#include "postgres/connect/quote.h"

namespace walpost {

namespace {

constexpr std::string_view kSkipLocked = "SKIP LOCKED";

}  // namespace

ClaimSql::ClaimSql(const PolledTable& table, std::chrono::milliseconds lease,
                   Quote quote,
                   const std::optional<LeaseTableOptions>& lease_table)
    : TableSql(table, std::move(quote)), lease_(lease) {
  if (!lease_table) return;
  lease_table_.emplace(lease_table->table, table.name(), lease_table->holder,
                       lease, quote_);
}

// Otherwise the lease belongs to `processing`, and needs no index of its own.
bool ClaimSql::pending_may_be_locked() const {
  return !table_.state.locked_until.empty() &&
         (!marks_processing() || table_.state.next_attempt_at.empty());
}

bool ClaimSql::keeps_retry_time() const {
  return !table_.state.next_attempt_at.empty() ||
         !table_.state.locked_until.empty();
}

std::string ClaimSql::Claimable(std::string_view alias, Ids waiting) const {
  const RowStateOptions& state = table_.state;
  std::string condition = Pending(alias);
  const auto add = [&condition](std::string_view column, std::string then) {
    condition += fmt::format(" AND ({0} IS NULL OR {0} <= {1})", column, then);
  };
  if (!state.next_attempt_at.empty()) {
    add(Column(alias, state.next_attempt_at), "now()");
  }
  if (pending_may_be_locked()) {
    add(Column(alias, state.locked_until), "now()");
  }
  if (!state.heartbeat_at.empty() && !marks_processing()) {
    add(Column(alias, state.heartbeat_at), Now(-lease_));
  }
  if (!waiting.empty()) {
    condition += fmt::format(" AND NOT {}", In(alias, waiting));
  }
  return condition;
}

// By the text, as the key of a record is: for a lease, rows are of one
// aggregate if consumers see them as such.
std::string ClaimSql::LeaseKey(const Keys& row) const {
  std::string of_aggregate = "0";
  for (const std::string& column : row.aggregate) {
    of_aggregate =
        fmt::format("hashtextextended({}::text, {})", column, of_aggregate);
  }
  const std::string of_id =
      fmt::format("hashtextextended({}::text, 1)", row.id);
  if (row.aggregate.empty()) return of_id;
  return fmt::format("coalesce({}, {})", of_aggregate, of_id);
}

ClaimSql::Keys ClaimSql::TableKeys(std::string_view alias) const {
  Keys keys{Column(alias, table_.id), Column(alias, table_.order), {}};
  for (const std::string& column : table_.aggregate) {
    keys.aggregate.push_back(Column(alias, column));
  }
  return keys;
}

ClaimSql::Keys ClaimSql::PartKeys(std::string_view alias) const {
  Keys keys{fmt::format("{}.id", alias), fmt::format("{}.place", alias), {}};
  for (size_t i = 0; i < table_.aggregate.size(); ++i) {
    keys.aggregate.push_back(fmt::format("{}.aggregate{}", alias, i));
  }
  return keys;
}

std::string ClaimSql::SelectKeys(std::string_view alias) const {
  const Keys keys = TableKeys(alias);
  std::string text =
      fmt::format("SELECT {} AS id, {} AS place", keys.id, keys.place);
  for (size_t i = 0; i < keys.aggregate.size(); ++i) {
    text += fmt::format(", {} AS aggregate{}", keys.aggregate[i], i);
  }
  return text;
}

std::string ClaimSql::StandsBefore(const Keys& earlier, const Keys& row) const {
  std::string condition;
  for (size_t i = 0; i < earlier.aggregate.size(); ++i) {
    condition +=
        fmt::format("{} = {} AND ", earlier.aggregate[i], row.aggregate[i]);
  }
  if (table_.order_has_ties) {
    return condition + fmt::format("({}, {}) < ({}, {})", earlier.place,
                                   earlier.id, row.place, row.id);
  }
  return condition + fmt::format("{} < {}", earlier.place, row.place);
}

// As NOT IN, which the server hashes whatever sizes it assumes: its statistics
// of a queue are never right, and a nested-loop join is a disaster.
std::string ClaimSql::AggregateNotIn(std::string_view part,
                                     const Keys& row) const {
  std::string condition;
  for (const std::string& column : row.aggregate) {
    condition += column + " IS NULL OR ";  // not of any aggregate
  }
  const std::vector<std::string> found = PartKeys("p").aggregate;
  return fmt::format(
      "({}({}) NOT IN (SELECT {} FROM {} p WHERE {} IS NOT NULL))", condition,
      absl::StrJoin(row.aggregate, ", "), absl::StrJoin(found, ", "), part,
      absl::StrJoin(found, " IS NOT NULL AND "));
}

// If an index finds the rows with a value in `column`, the planner must have no
// other index to choose: the one of pending rows is as long as the backlog.
std::string ClaimSql::PendingBeside(std::string_view alias,
                                    std::string_view column) const {
  if (std::ranges::find(table_.found_by, column) == table_.found_by.end()) {
    return Pending(alias);
  }
  return fmt::format("({}) IS TRUE", Pending(alias));
}

// One SELECT per reason, so that each can use its own index.
std::string ClaimSql::Blocked(Ids waiting) const {
  const RowStateOptions& state = table_.state;
  std::vector<std::string> reasons;
  const auto waits_for = [&](std::string_view column, std::string then) {
    reasons.push_back(fmt::format("{} AND {} > {}", PendingBeside("b", column),
                                  Column("b", column), then));
  };
  if (marks_processing()) {
    reasons.push_back(Processing("b"));
  }
  if (!state.next_attempt_at.empty()) {
    waits_for(state.next_attempt_at, "now()");
  }
  if (pending_may_be_locked()) waits_for(state.locked_until, "now()");
  if (!state.heartbeat_at.empty() && !marks_processing()) {
    waits_for(state.heartbeat_at, Now(-lease_));
  }
  if (!waiting.empty()) {
    reasons.push_back(fmt::format("{} AND {}", Pending("b"), In("b", waiting)));
  }
  for (std::string& reason : reasons) {
    reason =
        fmt::format("{} FROM {} b WHERE {}", SelectKeys("b"), name_, reason);
  }
  return absl::StrJoin(reasons, "\n  UNION ALL ");
}

std::string ClaimSql::LockFirst(size_t limit,
                                std::string_view if_locked) const {
  return fmt::format("ORDER BY {} LIMIT {} FOR UPDATE OF o {}", Order("o"),
                     limit, if_locked);
}

std::string ClaimSql::OfOthers(std::string_view alias,
                               const std::vector<std::string>& passed) const {
  std::string condition;
  if (lease_table_) {
    condition = "\n  AND " + LeaseTable::IsFree(LeaseKey(TableKeys(alias)));
  }
  for (const std::string& part : passed) {
    condition += "\n  AND " + AggregateNotIn(part, TableKeys(alias));
  }
  return condition;
}

std::string ClaimSql::Look(std::string_view number,
                           const std::string& claimable,
                           const std::vector<std::string>& passed,
                           size_t limit) const {
  std::string look = fmt::format(
      "candidate{} AS MATERIALIZED (\n  {} FROM {} o WHERE {}{}\n  {}),\n",
      number, SelectKeys("o"), name_, claimable, OfOthers("o", passed),
      LockFirst(limit, kSkipLocked));
  look += fmt::format(
      "skipped{0} AS MATERIALIZED (\n  {1} FROM {2} s WHERE {3} AND {4} <= "
      "(SELECT place FROM candidate{0} ORDER BY place DESC NULLS LAST LIMIT 1)"
      "\n  AND {5} NOT IN (SELECT id FROM candidate{0} WHERE id IS NOT "
      "NULL){6}),\n",
      number, SelectKeys("s"), name_, Pending("s"), Column("s", table_.order),
      Column("s", table_.id), OfOthers("s", passed));
  const std::string skipped = fmt::format("skipped{}", number);
  look += fmt::format(
      "clear{} AS MATERIALIZED (\n  SELECT * FROM candidate{} c WHERE {}\n  OR "
      "NOT EXISTS (SELECT FROM {} s WHERE {}))",
      number, number, AggregateNotIn(skipped, PartKeys("c")), skipped,
      StandsBefore(PartKeys("s"), PartKeys("c")));
  return look;
}

std::string ClaimSql::WithBlocked(Ids waiting,
                                  std::vector<std::string>& passed) const {
  std::string with = "WITH ";
  if (lease_table_) with += lease_table_->Held();
  const std::string reasons = Blocked(waiting);
  if (reasons.empty()) return with;
  passed.emplace_back("blocked");
  return fmt::format("{}blocked AS MATERIALIZED (\n  {}),\n", with, reasons);
}

// All are MATERIALIZED: for a row that has changed since the snapshot the
// server evaluates the join of the UPDATE once more, and takes what a CTE said
// of the row, but executes a subquery again, which finds other rows.
std::string ClaimSql::With(size_t limit, Ids waiting, size_t far) const {
  const std::string claimable = Claimable("o", waiting);
  if (table_.aggregate.empty()) {
    return fmt::format(
        "WITH {}chosen AS MATERIALIZED (\n  {} FROM {} o WHERE {}{} {})",
        lease_table_ ? lease_table_->Held() : "", SelectKeys("o"), name_,
        claimable, OfOthers("o", {}), LockFirst(limit, kSkipLocked));
  }
  std::vector<std::string> passed;
  std::string with = WithBlocked(waiting, passed);
  with += Look("", claimable, passed, limit);
  if (far == 0) {
    return with + ",\nchosen AS MATERIALIZED (SELECT * FROM clear)";
  }
  const std::string only_then =
      "\n  AND EXISTS (SELECT FROM candidate) AND NOT EXISTS (SELECT FROM "
      "clear)";
  passed.emplace_back("skipped");
  with += ",\n" + Look("2", claimable + only_then, passed, far);
  return fmt::format(
      "{},\nchosen AS MATERIALIZED (SELECT * FROM clear UNION ALL (SELECT * "
      "FROM clear2 ORDER BY place{} LIMIT {}))",
      with, table_.order_has_ties ? ", id" : "", limit);
}

std::string ClaimSql::Claim(size_t limit, Ids waiting, size_t far) const {
  const std::string with = With(limit, waiting, far);
  if (!lease_table_) return with + UpdateChosen();
  return fmt::format("{}; {},\n{}\n{}", lease_table_->Lock(), with,
                     lease_table_->Hold(LeaseKey(PartKeys("c")), "chosen c"),
                     SelectChosen());
}

// The snapshot shows every unpublished row. A session that has taken or
// published one since has changed it, so that locking it fails.
std::string ClaimSql::ClaimUndisturbed(size_t limit, Ids waiting) const {
  std::vector<std::string> passed;
  const std::string with = WithBlocked(waiting, passed);
  const auto choose = [&](const std::string& select) {
    return fmt::format(
        "{}chosen AS MATERIALIZED (\n  {} FROM {} o WHERE {}{}\n  {})", with,
        select, name_, Claimable("o", waiting), OfOthers("o", passed),
        LockFirst(limit, "NOWAIT"));
  };
  std::string claim = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; ";
  if (!lease_table_) return claim + choose(SelectKeys("o")) + UpdateChosen();
  const std::string columns = ColumnList(table_.schema, "o.");
  claim += lease_table_->Lock() + "; " + choose("SELECT " + columns);
  return fmt::format("{},\n{}\nSELECT {} FROM chosen r ORDER BY {}", claim,
                     lease_table_->Hold(LeaseKey(TableKeys("c")), "chosen c"),
                     ColumnList(table_.schema, "r."), Order("r"));
}

std::string ClaimSql::UpdateChosen() const {
  const RowStateOptions& state = table_.state;
  std::vector<std::string> assignments;
  if (marks_processing()) {
    assignments.push_back(fmt::format("{} = {}", QuoteName(state.status),
                                      quote_(state.processing)));
  }
  assignments.push_back(SetLease());
  return fmt::format(
      ",\nclaimed AS (\n  UPDATE {} u SET {} FROM chosen WHERE {} = chosen.id "
      "RETURNING u.*)\nSELECT {} FROM claimed r ORDER BY {}",
      name_, absl::StrJoin(assignments, ", "), Column("u", table_.id),
      ColumnList(table_.schema, "r."), Order("r"));
}

std::string ClaimSql::Lock(size_t limit, Ids waiting, size_t far) const {
  return With(limit, waiting, far) + "\n" + SelectChosen();
}

// Locked once more, for their columns are to be those that were locked: the
// snapshot may have older ones.
std::string ClaimSql::SelectChosen() const {
  return fmt::format(
      "SELECT {} FROM {} r JOIN chosen ON {} = chosen.id ORDER BY {} FOR "
      "UPDATE "
      "OF r",
      ColumnList(table_.schema, "r."), name_, Column("r", table_.id),
      Order("r"));
}

const std::string& ClaimSql::lease_column() const {
  const RowStateOptions& state = table_.state;
  return state.locked_until.empty() ? state.heartbeat_at : state.locked_until;
}

std::string ClaimSql::SetLease() const {
  const bool by_end = !table_.state.locked_until.empty();
  return fmt::format("{} = {}", QuoteName(lease_column()),
                     by_end ? Now(lease_) : "now()");
}

std::string ClaimSql::Update(std::string_view assignments, Ids ids,
                             const LeaseMark& mark) const {
  std::string update = fmt::format("UPDATE {} u SET {} WHERE {}", name_,
                                   assignments, In("u", ids));
  if (mark.empty()) return update;
  if (lease_table_) {
    return update + " AND " + lease_table_->IsOurs(LeaseKey(TableKeys("u")));
  }
  // Not for an index: rows are found by their ids.
  return update + fmt::format(" AND ({} <= {}) IS TRUE",
                              Column("u", lease_column()), quote_(mark));
}

std::string ClaimSql::Renew(Ids ids, const LeaseMark& mark) const {
  if (lease_table_) {
    return fmt::format(
        "WITH {}\nSELECT {}, {} FROM {} u WHERE {} AND {} IN (SELECT "
        "unnest(keys) FROM renewed)",
        lease_table_->Renewed(), Column("u", table_.id), quote_(mark), name_,
        In("u", ids), LeaseKey(TableKeys("u")));
  }
  return fmt::format("{} RETURNING {}, {}", Update(SetLease(), ids, mark),
                     Column("u", table_.id), Column("u", lease_column()));
}

std::string ClaimSql::ReturnExpired() const {
  if (!marks_processing()) return "";
  const RowStateOptions& state = table_.state;
  const bool by_end = !state.locked_until.empty();
  const std::string lease = Column("u", lease_column());
  // A row without a lease was never ours; an operator must look at it.
  return fmt::format("UPDATE {} u SET {} = {} WHERE {} = {} AND {} <= {}",
                     name_, QuoteName(state.status), quote_(state.pending),
                     Column("u", state.status), quote_(state.processing), lease,
                     by_end ? "now()" : Now(-lease_));
}

std::string ClaimSql::MarkPublished(Ids ids) const {
  const RowStateOptions& state = table_.state;
  std::vector<std::string> assignments;
  if (!state.status.empty()) {
    assignments.push_back(fmt::format("{} = {}", QuoteName(state.status),
                                      quote_(state.published)));
  }
  if (!state.published_at.empty()) {
    assignments.push_back(
        fmt::format("{} = now()", QuoteName(state.published_at)));
  }
  if (!state.locked_until.empty()) {
    assignments.push_back(
        fmt::format("{} = {}", QuoteName(state.locked_until), kNull));
  }
  return Update(absl::StrJoin(assignments, ", "), ids);
}

std::string ClaimSql::Delete(Ids ids) const {
  return fmt::format("DELETE FROM {} u WHERE {} RETURNING {}", name_,
                     In("u", ids), Column("u", table_.id));
}

std::string ClaimSql::KeepOnly(Ids ids) const {
  if (!lease_table_) return "";
  if (ids.empty()) return lease_table_->KeepOnly("");
  return lease_table_->KeepOnly(fmt::format("SELECT {} FROM {} u WHERE {}",
                                            LeaseKey(TableKeys("u")), name_,
                                            In("u", ids)));
}

std::string ClaimSql::Release(Ids ids, const LeaseMark& mark) const {
  if (lease_table_) return "";
  const RowStateOptions& state = table_.state;
  std::vector<std::string> assignments;
  if (marks_processing()) {
    assignments.push_back(
        fmt::format("{} = {}", QuoteName(state.status), quote_(state.pending)));
  }
  assignments.push_back(
      fmt::format("{} = {}", QuoteName(lease_column()), kNull));
  return Update(absl::StrJoin(assignments, ", "), ids, mark);
}

std::string ClaimSql::Refuse(const RefusedRow& row,
                             const LeaseMark& mark) const {
  const RowStateOptions& state = table_.state;
  std::vector<std::string> assignments;
  const auto set = [&assignments](std::string_view column, std::string value) {
    if (column.empty()) return;
    assignments.push_back(fmt::format("{} = {}", QuoteName(column), value));
  };
  const std::string next_attempt =
      row.give_up ? std::string(kNull) : Now(row.retry_in);
  if (row.give_up || marks_processing()) {
    set(state.status, quote_(row.give_up ? state.failed : state.pending));
  }
  set(state.next_attempt_at, next_attempt);
  set(state.locked_until,
      state.next_attempt_at.empty() ? next_attempt : std::string(kNull));
  set(state.heartbeat_at, std::string(kNull));
  if (!state.attempts.empty()) {
    set(state.attempts,
        fmt::format("coalesce({}, 0) + 1", Column("u", state.attempts)));
  }
  std::string error = quote_(row.error);
  if (table_.longest_error > 0) {
    error = fmt::format("left({}, {})", error, table_.longest_error);
  }
  set(state.last_error, std::move(error));
  if (assignments.empty()) return "";
  return Update(absl::StrJoin(assignments, ", "), Ids(&row.id, 1), mark);
}

}  // namespace walpost
