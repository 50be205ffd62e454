#include "app/process/retention_service.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "log/log.h"
#include "loop/as_tuple.h"

namespace walpost {

namespace asio = boost::asio;
using std::chrono::milliseconds;

namespace {

// Interval for checking whether this instance streams.
constexpr milliseconds kStandbyInterval{1000};

// Why a pass has kept rows; empty: it has kept none.
std::string ReasonToKeep(const Pruned& pruned) {
  if (pruned.rows.kept == 0) return "";
  std::string reason = "not known to be sent";
  if (pruned.rows.unproven > 0 && !pruned.doubt.empty()) {
    reason += "; some have no proof: " + pruned.doubt;
  }
  return reason;
}

// Adds the results of a pass; it goes through the tables in their order.
void Add(const std::vector<Pruned>& pass, std::vector<RetentionReport>& all) {
  for (size_t i = 0; i < pass.size(); ++i) {
    all[i].pruned_rows += pass[i].rows.deleted;
    all[i].dropped_partitions += pass[i].dropped.size();
  }
}

SentProof ProofOf(PollingOptions::Strategy strategy) {
  switch (strategy) {
    case PollingOptions::Strategy::kClaim:
      return SentProof::kState;
    case PollingOptions::Strategy::kCursor:
      return SentProof::kCursor;
    case PollingOptions::Strategy::kDelete:
      break;
  }
  return SentProof::kNone;
}

}  // namespace

Pruner::Options PrunerOptions(const Config& config) {
  Pruner::Options options;
  options.postgres = config.postgres;
  options.tables = config.outbox.tables;
  options.origin = config.outbox.origin;
  options.retention = config.retention;
  if (config.source == Source::kPolling) {
    options.proof = ProofOf(config.polling.strategy);
    options.cursor_table = config.polling.cursor_table;
  }
  return options;
}

RetentionService::RetentionService(asio::any_io_executor executor,
                                   const Config& config,
                                   std::function<bool()> is_streaming)
    : executor_(executor),
      options_(PrunerOptions(config)),
      is_streaming_(std::move(is_streaming)),
      timer_(executor) {
  // A pass that waits for Kafka is not repeated while it waits.
  options_.gate_limit =
      std::max(options_.gate_limit, config.retention.interval);
  options_.may_go_on = is_streaming_;
  if (!options_.retention.enabled()) return;
  for (const TableOptions& table : options_.tables) {
    ended_passes_.emplace_back().table = table.name;
  }
  reasons_to_keep_.resize(options_.tables.size());
  not_dropped_.resize(options_.tables.size());
}

std::vector<RetentionReport> RetentionService::Report() const {
  std::vector<RetentionReport> all = ended_passes_;
  if (pass_ != nullptr) Add(pass_->pruned(), all);
  if (!passed_at_) return all;
  for (RetentionReport& report : all) {
    report.pass_age = std::chrono::duration_cast<milliseconds>(
        std::chrono::steady_clock::now() - *passed_at_);
  }
  return all;
}

asio::awaitable<void> RetentionService::Run() {
  if (!options_.retention.enabled()) co_return;
  for (;;) {
    while (!is_streaming_()) co_await Wait(kStandbyInterval);
    const absl::Status status = co_await Prune();
    milliseconds rest = options_.retention.interval;
    if (absl::IsCancelled(status)) rest = kStandbyInterval;
    co_await Wait(rest);
  }
}

asio::awaitable<absl::Status> RetentionService::Prune() {
  const auto pruner = std::make_unique<Pruner>(executor_, options_);
  pass_ = pruner.get();
  const absl::Status status = co_await pruner->Run();
  pass_ = nullptr;
  const std::vector<Pruned>& pruned = pruner->pruned();
  Add(pruned, ended_passes_);
  for (size_t i = 0; i < pruned.size(); ++i) {
    // A failed pass says nothing about the tables that it did not reach.
    if (status.ok() || pruned[i].rows.kept > 0) {
      ended_passes_[i].kept_rows = pruned[i].rows.kept;
    }
    LogPruned(i, pruned[i]);
  }
  LogEnd(status);
  if (status.ok()) passed_at_ = std::chrono::steady_clock::now();
  co_return status;
}

void RetentionService::LogPruned(size_t table, const Pruned& pruned) {
  for (const std::string& name : pruned.dropped) {
    LogInfo({{"table", pruned.table}}, "retention: dropped partition {} of {}",
            name, pruned.table);
  }
  for (const std::string& why : pruned.not_dropped) {
    if (std::ranges::find(not_dropped_[table], why) ==
        not_dropped_[table].end()) {
      LogWarn({{"table", pruned.table}}, "retention: partition not dropped: {}",
              why);
    }
  }
  not_dropped_[table] = pruned.not_dropped;
  if (pruned.rows.deleted > 0 || pruned.partitions_made > 0) {
    LogInfo({{"table", pruned.table}},
            "retention: {}: {} rows deleted, {} partitions made", pruned.table,
            pruned.rows.deleted, pruned.partitions_made);
  }
  const std::string reason = ReasonToKeep(pruned);
  const std::string before = std::exchange(reasons_to_keep_[table], reason);
  if (reason != before && !reason.empty()) {
    LogWarn({{"table", pruned.table}},
            "retention: {}: {} old rows are kept: {}", pruned.table,
            pruned.rows.kept, reason);
  }
}

void RetentionService::LogEnd(const absl::Status& status) {
  std::string trouble;
  if (!absl::IsCancelled(status)) trouble = std::string(status.message());
  const std::string before = std::exchange(trouble_, trouble);
  if (trouble != before && !trouble.empty()) {
    LogWarn("retention: nothing more is pruned for now: {}", trouble);
  }
}

asio::awaitable<void> RetentionService::Wait(milliseconds time) {
  timer_.expires_after(time);
  co_await timer_.async_wait(kAsTuple);
}

}  // namespace walpost
