#include "polling/index_check.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "postgres/connect/quote.h"

namespace walpost {

IndexCheck::IndexCheck(const PolledTable& table, Strategy strategy,
                       bool is_partitioned, Quote quote)
    : TableSql(table, std::move(quote)),
      strategy_(strategy),
      is_partitioned_(is_partitioned) {}

Findings IndexCheck::Run(const TableIndexes& indexes) {
  if (!indexes.FindAllBy(table_.id)) {
    Need(Severity::kError, FindingId("id_index_missing"),
         fmt::format("has no index on {}, by which rows are marked", table_.id),
         Create(is_partitioned_ ? "INDEX" : "UNIQUE INDEX", {table_.id}));
  } else if (!is_partitioned_ && !indexes.MakeUnique(table_.id)) {
    Need(Severity::kWarning, FindingId("id_not_unique"),
         fmt::format("has no unique index on {}: two rows with the same one "
                     "would be marked together, whichever was sent",
                     table_.id),
         Create("UNIQUE INDEX", {table_.id}));
  }
  if (strategy_ == Strategy::kCursor) {
    CheckCursor(indexes);
  } else {
    CheckPending(indexes);
    if (strategy_ == Strategy::kClaim) CheckHeld(indexes);
    CheckWaiting(indexes);
    CheckFailed(indexes);
  }
  return std::move(findings_);
}

void IndexCheck::Need(Severity severity, FindingId id, std::string text,
                      std::string remedy) {
  findings_.push_back({severity, std::move(id),
                       fmt::format("table {}", table_.name()), std::move(text),
                       std::move(remedy)});
}

void IndexCheck::CheckCursor(const TableIndexes& indexes) {
  const std::string& transaction_id = table_.state.transaction_id;
  if (is_partitioned_) {
    Need(Severity::kError, FindingId("order_not_unique_across_partitions"),
         fmt::format("has partitions, and no index makes {} unique in all of "
                     "them, by which a cursor would know how far it is",
                     table_.order),
         "polling.strategy: claim, or source: wal");
  } else if (!indexes.MakeUnique(table_.order)) {
    Need(Severity::kError, FindingId("order_not_unique"),
         fmt::format("has no unique index on {}, by which a "
                     "cursor knows how far it is",
                     table_.order),
         Create("UNIQUE INDEX", {table_.order}));
  }
  if (!indexes.FindAllBy(transaction_id)) {
    Need(Severity::kError, FindingId("transaction_id_index_missing"),
         fmt::format("has no index on {}", transaction_id),
         Create("INDEX", {transaction_id, table_.order}));
  }
}

void IndexCheck::CheckPending(const TableIndexes& indexes) {
  const RowStateOptions& state = table_.state;
  const std::string& mark =
      state.status.empty() ? state.published_at : state.status;
  if (mark.empty()) {  // rows are deleted: all existing ones are pending
    if (indexes.FindAllBy(table_.order)) return;
    Need(Severity::kError, FindingId("order_index_missing"),
         fmt::format("has no index on {}", table_.order),
         Create("INDEX", {table_.order}));
    return;
  }
  if (indexes.FindAllBy(mark)) return;
  if (state.status.empty() && indexes.ArePartialBy({mark, "IS NULL"})) return;
  if (indexes.ArePartialByValue(mark, quote_(state.pending))) return;
  if (indexes.ArePartialBy({mark, AllButPublished()})) return;
  Need(Severity::kError, FindingId("pending_index_missing"),
       "has no index of pending rows: each look would read the whole table",
       Create("INDEX", {table_.order}, fmt::format(" WHERE {}", Pending(""))));
}

// Each claim finds the held rows: their aggregates wait.
void IndexCheck::CheckHeld(const TableIndexes& indexes) {
  const RowStateOptions& state = table_.state;
  if (!state.has_lease()) return;
  const std::string& lease =
      state.locked_until.empty() ? state.heartbeat_at : state.locked_until;
  const std::string processing = quote_(state.processing);
  std::string held = fmt::format("{} IS NOT NULL", QuoteName(lease));
  if (state.marks_processing()) {  // then the lease is not searched
    if (indexes.FindAllBy(state.status)) return;
    if (indexes.ArePartialByValue(state.status, processing)) return;
    held = Processing("");
  } else if (indexes.FindSomeBy(lease)) {
    return;
  }
  Need(Severity::kWarning, FindingId("lease_index_missing"),
       fmt::format("has no index on {}, by which held rows are found: each "
                   "claim reads the whole backlog",
                   lease),
       Create("INDEX", {lease}, fmt::format(" WHERE {}", held)));
}

// Each claim also finds the rejected rows.
void IndexCheck::CheckWaiting(const TableIndexes& indexes) {
  const std::string& next_attempt_at = table_.state.next_attempt_at;
  if (next_attempt_at.empty() || indexes.FindSomeBy(next_attempt_at)) return;
  Need(
      Severity::kWarning, FindingId("next_attempt_index_missing"),
      fmt::format("has no index on {}, by which refused rows are found: each "
                  "look reads the whole backlog",
                  next_attempt_at),
      Create("INDEX", {next_attempt_at},
             fmt::format(" WHERE {} IS NOT NULL", QuoteName(next_attempt_at))));
}

// Failed rows are counted every few seconds.
void IndexCheck::CheckFailed(const TableIndexes& indexes) {
  const RowStateOptions& state = table_.state;
  if (!state.can_fail() || indexes.FindAllBy(state.status)) return;
  const std::string failed = quote_(state.failed);
  if (indexes.ArePartialByValue(state.status, failed)) return;
  if (indexes.ArePartialBy({state.status, AllButPublished()})) return;
  Need(Severity::kWarning, FindingId("failed_index_missing"),
       fmt::format("has no index of rows whose {} is {}: counting them reads "
                   "the whole table, every few seconds",
                   state.status, failed),
       Create("INDEX", {table_.order},
              fmt::format(" WHERE {} = {}", QuoteName(state.status), failed)));
}

// WHERE status <> 'published' also finds pending and failed rows.
std::string IndexCheck::AllButPublished() const {
  return "<> " + quote_(table_.state.published);
}

// Concurrently, if the server can: not on a partitioned table.
std::string IndexCheck::Create(std::string_view kind,
                               const std::vector<std::string>& columns,
                               std::string_view predicate) const {
  std::vector<std::string> quoted;
  for (const std::string& column : columns) {
    quoted.push_back(QuoteName(column));
  }
  return fmt::format("CREATE {}{} ON {} ({}){};", kind,
                     is_partitioned_ ? "" : " CONCURRENTLY", name_,
                     absl::StrJoin(quoted, ", "), predicate);
}

}  // namespace walpost
