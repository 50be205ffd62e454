#include "retention/pruner.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/read_refusal.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/row_origin.h"
#include "postgres/connect/task_session.h"
#include "retention/cursor_gate.h"
#include "retention/partition_pruner.h"
#include "retention/prune_sql.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kPassLimit{60};
// The server may need a moment to end the session of an earlier pass.
constexpr std::chrono::seconds kLockLimit{3};
constexpr std::chrono::milliseconds kLockInterval{100};

}  // namespace

Pruner::Pruner(asio::any_io_executor executor, Options options)
    : executor_(executor),
      options_(std::move(options)),
      gate_(executor, options_.postgres.slot, "prune"),
      proof_(options_.postgres, options_.tables, options_.load_checkpoint) {}

void Pruner::Stop() {
  stopped_ = true;
  gate_.Stop();
}

absl::Status Pruner::CheckOn() const {
  if (stopped_) return absl::CancelledError("told to end");
  if (options_.may_go_on && !options_.may_go_on()) {
    return absl::CancelledError("walpost does not stream any more");
  }
  return absl::OkStatus();
}

asio::awaitable<absl::Status> Pruner::Run() {
  absl::Status status = co_await Connect();
  if (!status.ok()) co_return status;
  const size_t tables = options_.tables.size();
  shapes_.resize(tables);
  pruned_.resize(tables);
  absl::Status first_failure;
  for (size_t i = 0; i < tables; ++i) {
    pruned_[i].table = options_.tables[i].name;
    status = co_await PrepareTable(i);
    first_failure.Update(status);
  }
  const auto is_prepared = [](const auto& shape) { return shape.has_value(); };
  if (std::ranges::none_of(shapes_, is_prepared)) co_return first_failure;
  status = absl::OkStatus();
  if (options_.proof == SentProof::kSlot) status = co_await ProveBySlot();
  if (absl::IsFailedPrecondition(status)) {
    WALPOST_CO_RETURN_IF_ERROR(co_await CountKept());
  }
  if (status.ok()) status = co_await PruneTables();
  status.Update(first_failure);
  co_return status;
}

// A gap is reported at once. The second look is after the mark is passed: then
// the answer holds for all rows before the mark.
asio::awaitable<absl::Status> Pruner::ProveBySlot() {
  absl::Status status = co_await proof_.Look(*connection_);
  if (status.ok() && assumed_before_.empty()) status = CheckAnyProof();
  if (!status.ok()) co_return status;
  status = co_await OpenGate();
  if (!status.ok()) co_return status;
  co_return co_await proof_.Look(*connection_);
}

absl::Status Pruner::CheckAnyProof() const {
  for (size_t i = 0; i < options_.tables.size(); ++i) {
    if (proof_.UnprovenReason(i).empty()) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      fmt::format("nothing is deleted: {}", proof_.UnprovenReason(0)));
}

asio::awaitable<absl::Status> Pruner::PruneTables() {
  for (size_t i = 0; i < options_.tables.size(); ++i) {
    if (!shapes_[i]) continue;
    absl::Status status = CheckOn();
    if (status.ok() && options_.proof == SentProof::kSlot) {
      status = co_await proof_.LookAgain(*connection_);
    }
    if (!status.ok()) co_return status;
    status = co_await PruneTable(i);
    NoteDoubt(i);
    if (!status.ok()) co_return status;
  }
  co_return absl::OkStatus();
}

void Pruner::NoteDoubt(size_t index) {
  Pruned& pruned = pruned_[index];
  if (pruned.rows.unproven == 0) return;
  pruned.doubt = proof_.UnprovenReason(index);
  if (!pruned.doubt.empty()) return;
  pruned.doubt = fmt::format(
      "{}; earlier rows, and those written into a table before it was attached "
      "as a partition, may be in Kafka or not: ask walpost verify -c FILE, "
      "then walpost prune -c FILE --assume-sent-before",
      proof_.Since(index));
  if (options_.origin == OriginFilter::kAny) return;
  pruned.doubt += fmt::format(
      "; with postgres.origin: none, so may rows whose origin is not known: {}",
      kWhyOriginIsUnknown);
}

absl::Status Pruner::WithGrant(const absl::Status& status,
                               std::string_view table) {
  if (SqlstateOf(status) != kSqlstatePrivilege) return status;
  return WithPrivilegeRemedy(status, table, PQuser(connection_->raw()),
                             "SELECT, DELETE");
}

asio::awaitable<absl::Status> Pruner::CountKept() {
  const std::string nothing = "false";
  for (size_t i = 0; i < options_.tables.size(); ++i) {
    if (!shapes_[i]) continue;
    std::vector<OutboxShape::Leaf> leaves = shapes_[i]->leaves;
    const std::vector<OutboxShape::Leaf>& past = shapes_[i]->past;
    leaves.insert(leaves.end(), past.begin(), past.end());
    for (const OutboxShape::Leaf& leaf : leaves) {
      PruneRule rule = RuleOf(i, leaf, nothing);
      rule.covered = nothing;
      RowPruner rows(executor_, *connection_, std::move(rule),
                     options_.retention, is_stopped_);
      RowPruner::Counts& counts = pruned_[i].rows;
      const absl::Status status =
          co_await rows.Run(RowPruner::Mode::kDryRun, counts);
      if (!status.ok()) co_return WithGrant(status, leaf.name);
    }
  }
  co_return absl::OkStatus();
}

PruneRule Pruner::RuleOf(size_t index, const OutboxShape::Leaf& leaf,
                         const std::string& sent) const {
  const OutboxShape& shape = *shapes_[index];
  PruneRule rule;
  rule.table = leaf.name;
  rule.time_column = shape.time_column;
  rule.limit = limit_;
  rule.sent = sent;
  if (options_.proof == SentProof::kSlot) {
    rule.covered =
        proof_.Covered(index, shape, leaf, assumed_before_, options_.origin);
    rule.sent = fmt::format("({}) AND {}", rule.covered, sent);
  }
  return rule;
}

asio::awaitable<absl::Status> Pruner::PrepareTable(size_t index) {
  const TableOptions& table = options_.tables[index];
  connection_->set_deadline(Clock::now() + kPassLimit);
  WALPOST_CO_ASSIGN_OR_RETURN(
      OutboxShape shape,
      co_await ReadOutboxShape(*connection_, table, options_.proof, limit_));
  const size_t days = is_dry() ? 0 : options_.retention.partitions_ahead;
  WALPOST_CO_ASSIGN_OR_RETURN(
      uint64_t made, co_await AddPartitions(*connection_, shape, days));
  pruned_[index].partitions_made = made;
  shapes_[index] = std::move(shape);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> Pruner::Connect() {
  ConnectionOptions options = TaskSession(options_.postgres, "prune");
  // Pruning must not wait long for other sessions.
  options.settings.push_back("lock_timeout=5s");
  WALPOST_CO_ASSIGN_OR_RETURN(connection_,
                              co_await Connection::Connect(executor_, options));
  const std::string begin = fmt::format(
      "SELECT now() - interval '{} milliseconds', pg_is_in_recovery(), {}",
      options_.retention.keep.count(),
      options_.assume_sent_before.empty() ? "NULL::timestamptz"
                                          : options_.assume_sent_before);
  connection_->set_deadline(Clock::now() + kPassLimit);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_->Execute(begin));
  if (rows.Bool(0, 1)) {
    co_return absl::FailedPreconditionError(
        "this server is a standby: prune on the primary");
  }
  limit_ = rows.Text(0, 0);
  assumed_before_ = rows.Text(0, 2);
  co_return co_await Lock();
}

// Until the session ends.
asio::awaitable<absl::Status> Pruner::Lock() {
  const std::string lock =
      "SELECT pg_try_advisory_lock(hashtextextended('walpost.prune', 0))";
  asio::steady_timer timer(executor_);
  for (const MonotonicTime until = Clock::now() + kLockLimit;;) {
    WALPOST_CO_ASSIGN_OR_RETURN(QueryRows locked,
                                co_await connection_->Execute(lock));
    if (locked.Bool(0, 0)) co_return absl::OkStatus();
    if (stopped_ || Clock::now() >= until) break;
    timer.expires_after(kLockInterval);
    co_await timer.async_wait(asio::use_awaitable);
  }
  co_return absl::UnavailableError(
      "this database is being pruned by another walpost already");
}

asio::awaitable<absl::Status> Pruner::OpenGate() {
  WALPOST_CO_RETURN_IF_ERROR(co_await gate_.Connect(options_.postgres.server));
  WALPOST_CO_ASSIGN_OR_RETURN(mark_, co_await gate_.TakeMark());
  const MonotonicTime deadline = Clock::now() + options_.gate_limit;
  const absl::Status passed = co_await gate_.WaitUntilPassed(mark_, deadline);
  if (!absl::IsDeadlineExceeded(passed)) co_return passed;
  co_return absl::UnavailableError(passed.message());
}

asio::awaitable<absl::StatusOr<std::string>> Pruner::SentSql(
    TableOptions table) {
  switch (options_.proof) {
    case SentProof::kSlot:
      co_return CommittedBeforeSql(mark_.oldest_running);
    case SentProof::kState: {
      const std::string published = connection_->Literal(table.state.published);
      co_return PublishedSql(table.state, published);
    }
    case SentProof::kCursor:
      co_return co_await ReadPassedSql(*connection_, table,
                                       options_.cursor_table);
    case SentProof::kNone:
      break;
  }
  co_return "false";
}

asio::awaitable<absl::Status> Pruner::PruneTable(size_t index) {
  connection_->set_deadline(Clock::now() + kPassLimit);
  const TableOptions& table = options_.tables[index];
  WALPOST_CO_ASSIGN_OR_RETURN(std::string sent, co_await SentSql(table));
  absl::Status status = co_await PrunePartitions(index, sent);
  if (status.ok()) status = co_await PruneRows(index, sent);
  co_return status;
}

asio::awaitable<absl::Status> Pruner::PrunePartitions(size_t index,
                                                      std::string sent) {
  Pruned& pruned = pruned_[index];
  PartitionPruner partitions(*connection_, options_.proof);
  for (const OutboxShape::Leaf& leaf : shapes_[index]->past) {
    absl::Status status = CheckOn();
    if (!status.ok()) co_return status;
    const PruneRule rule = RuleOf(index, leaf, sent);
    if (is_dry()) {
      status = co_await partitions.MayDrop(rule);
    } else {
      status = co_await partitions.Drop(rule);
    }
    if (status.ok()) {
      pruned.dropped.push_back(leaf.name);
    } else if (absl::IsUnavailable(status)) {
      pruned.not_dropped.push_back(
          fmt::format("{}: {}", leaf.name, std::string(status.message())));
    } else {
      co_return status;
    }
  }
  if (options_.proof == SentProof::kSlot) {
    pruned.rows.kept += partitions.kept();
    pruned.rows.unproven += partitions.unproven();
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> Pruner::PruneRows(size_t index,
                                                std::string sent) {
  const OutboxShape& shape = *shapes_[index];
  RowPruner::Counts& counts = pruned_[index].rows;
  for (const OutboxShape::Leaf& leaf : shape.leaves) {
    if (!leaf.is_quick) {
      co_return absl::FailedPreconditionError(
          fmt::format("table {} has no index that finds its old rows: {}",
                      leaf.name, MissingIndexSql(shape, leaf)));
    }
    PruneRule rule = RuleOf(index, leaf, sent);
    RowPruner rows(executor_, *connection_, std::move(rule), options_.retention,
                   is_stopped_);
    const absl::Status status = co_await rows.Run(options_.mode, counts);
    if (!status.ok()) co_return WithGrant(status, leaf.name);
  }
  co_return absl::OkStatus();
}

}  // namespace walpost
