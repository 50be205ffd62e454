#include "retention/pruner.h"

#include <algorithm>

#include "fmt/format.h"
#include "retention/cursor_gate.h"
#include "retention/partition_pruner.h"
#include "retention/prune_sql.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kStatementLimit{60};

}  // namespace

Pruner::Pruner(asio::any_io_executor executor, Options options)
    : executor_(executor),
      options_(std::move(options)),
      gate_(executor, options_.postgres.slot) {}

void Pruner::Stop() {
  stopped_ = true;
  gate_.Stop();
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
  if (options_.proof == SentProof::kSlot) status = co_await OpenGate();
  for (size_t i = 0; i < tables && status.ok(); ++i) {
    if (shapes_[i]) status = co_await PruneTable(i);
  }
  status.Update(first_failure);
  co_return status;
}

asio::awaitable<absl::Status> Pruner::PrepareTable(size_t index) {
  const TableOptions& table = options_.tables[index];
  connection_->set_deadline(Clock::now() + kStatementLimit);
  absl::StatusOr<OutboxShape> shape =
      co_await ReadOutboxShape(*connection_, table, options_.proof, limit_);
  if (!shape.ok()) co_return shape.status();
  const bool is_dry = options_.mode == RowPruner::Mode::kDryRun;
  const size_t days = is_dry ? 0 : options_.retention.partitions_ahead;
  absl::StatusOr<uint64_t> made =
      co_await AddPartitions(*connection_, *shape, days);
  if (!made.ok()) co_return made.status();
  pruned_[index].partitions_made = *made;
  shapes_[index] = *std::move(shape);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> Pruner::Connect() {
  ConnectionOptions options;
  options.conninfo = options_.postgres.conninfo;
  options.application_name =
      fmt::format("walpost:{}:prune", options_.postgres.slot);
  // Housekeeping waits for nobody long.
  options.settings.push_back("lock_timeout=5s");
  absl::StatusOr<std::unique_ptr<Connection>> connected =
      co_await Connection::Connect(executor_, options);
  if (!connected.ok()) co_return connected.status();
  connection_ = *std::move(connected);
  // The lock ends with the session.
  const std::string begin = fmt::format(
      "SELECT pg_try_advisory_lock(hashtextextended('walpost.prune', 0)), "
      "now() - interval '{} milliseconds', pg_is_in_recovery()",
      options_.retention.keep.count());
  connection_->set_deadline(Clock::now() + kStatementLimit);
  absl::StatusOr<QueryRows> rows = co_await connection_->Execute(begin);
  if (!rows.ok()) co_return rows.status();
  if (rows->Bool(0, 2)) {
    co_return absl::FailedPreconditionError(
        "this server is a standby: prune on the primary");
  }
  if (!rows->Bool(0, 0)) {
    co_return absl::UnavailableError(
        "this database is being pruned by another walpost already");
  }
  limit_ = rows->Text(0, 1);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> Pruner::OpenGate() {
  absl::Status status = co_await gate_.Connect(options_.postgres.conninfo);
  if (!status.ok()) co_return status;
  absl::StatusOr<AcknowledgedGate::Mark> mark = co_await gate_.TakeMark();
  if (!mark.ok()) co_return mark.status();
  mark_ = *mark;
  const MonotonicTime deadline = Clock::now() + options_.gate_limit;
  const std::string no_table;
  co_return co_await gate_.WaitUntilPassed(mark_, deadline, no_table);
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
  const TableOptions& table = options_.tables[index];
  const OutboxShape& shape = *shapes_[index];
  Pruned& pruned = pruned_[index];
  connection_->set_deadline(Clock::now() + kStatementLimit);
  absl::StatusOr<std::string> sent = co_await SentSql(table);
  if (!sent.ok()) co_return sent.status();
  absl::Status status = co_await PrunePartitions(shape, *sent, pruned);
  if (status.ok()) status = co_await PruneRows(shape, *sent, pruned);
  co_return status;
}

asio::awaitable<absl::Status> Pruner::PrunePartitions(const OutboxShape& shape,
                                                      std::string sent,
                                                      Pruned& pruned) {
  const bool is_dry = options_.mode == RowPruner::Mode::kDryRun;
  PartitionPruner partitions(*connection_, gate_, shape, options_.proof, sent);
  for (const std::string& name : shape.past) {
    if (stopped_) co_return absl::CancelledError("told to end");
    absl::Status status;
    if (is_dry) {
      status = co_await partitions.MayDrop(name);
    } else {
      status = co_await partitions.Drop(name);
    }
    if (status.ok()) {
      pruned.dropped.push_back(name);
    } else if (absl::IsUnavailable(status)) {
      pruned.not_dropped.push_back(
          fmt::format("{}: {}", name, std::string(status.message())));
    } else {
      co_return status;
    }
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> Pruner::PruneRows(const OutboxShape& shape,
                                                std::string sent,
                                                Pruned& pruned) {
  for (const OutboxShape::Leaf& leaf : shape.leaves) {
    if (!leaf.is_quick) {
      co_return absl::FailedPreconditionError(
          fmt::format("table {} has no index that finds its old rows: {}",
                      leaf.name, MissingIndexSql(shape, leaf)));
    }
    PruneRule rule;
    rule.table = leaf.name;
    rule.time_column = shape.time_column;
    rule.sent = sent;
    rule.limit = limit_;
    RowPruner rows(executor_, *connection_, std::move(rule), options_.retention,
                   is_stopped_);
    const absl::Status status = co_await rows.Run(options_.mode, pruned.rows);
    if (!status.ok()) co_return status;
  }
  co_return absl::OkStatus();
}

}  // namespace walpost
