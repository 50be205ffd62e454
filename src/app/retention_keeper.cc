#include "app/retention_keeper.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>

#include "spdlog/spdlog.h"

namespace walpost {

namespace asio = boost::asio;
using std::chrono::milliseconds;

namespace {

// How often we look whether it is our turn.
constexpr milliseconds kStandbyInterval{1000};

void Log(const Pruned& pruned) {
  for (const std::string& name : pruned.dropped) {
    spdlog::info("retention: dropped partition {} of {}", name, pruned.table);
  }
  for (const std::string& why : pruned.not_dropped) {
    spdlog::warn("retention: partition not dropped: {}", why);
  }
  if (pruned.rows.deleted > 0 || pruned.partitions_made > 0) {
    spdlog::info("retention: {}: {} rows deleted, {} partitions made",
                 pruned.table, pruned.rows.deleted, pruned.partitions_made);
  }
  if (pruned.rows.kept > 0) {
    spdlog::warn("retention: {}: {} old rows are kept: not known to be sent",
                 pruned.table, pruned.rows.kept);
  }
}

// Adds what a pass has done; it goes through the tables in their order.
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
  options.retention = config.retention;
  if (config.source == Source::kPolling) {
    options.proof = ProofOf(config.polling.strategy);
    options.cursor_table = config.polling.cursor_table;
  }
  return options;
}

RetentionKeeper::RetentionKeeper(asio::any_io_executor executor,
                                 const Config& config,
                                 std::function<bool()> is_streaming)
    : executor_(executor),
      options_(PrunerOptions(config)),
      is_streaming_(std::move(is_streaming)),
      timer_(executor) {
  // A pass that waits for Kafka is not tried again while it waits.
  options_.gate_limit = config.retention.interval;
  if (!options_.retention.enabled()) return;
  for (const TableOptions& table : options_.tables) {
    ended_passes_.emplace_back().table = table.name;
  }
}

std::vector<RetentionReport> RetentionKeeper::Report() const {
  std::vector<RetentionReport> all = ended_passes_;
  if (pass_ != nullptr) Add(pass_->pruned(), all);
  return all;
}

asio::awaitable<void> RetentionKeeper::Run() {
  if (!options_.retention.enabled()) co_return;
  for (;;) {
    while (!is_streaming_()) co_await Wait(kStandbyInterval);
    co_await Prune();
    co_await Wait(options_.retention.interval);
  }
}

asio::awaitable<void> RetentionKeeper::Prune() {
  const auto pruner = std::make_unique<Pruner>(executor_, options_);
  pass_ = pruner.get();
  const absl::Status status = co_await pruner->Run();
  pass_ = nullptr;
  Add(pruner->pruned(), ended_passes_);
  for (const Pruned& pruned : pruner->pruned()) Log(pruned);
  if (!status.ok()) {
    spdlog::warn("retention: nothing more is pruned for now: {}",
                 std::string(status.message()));
  }
}

asio::awaitable<void> RetentionKeeper::Wait(milliseconds time) {
  constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
  timer_.expires_after(time);
  co_await timer_.async_wait(kAsTuple);
}

}  // namespace walpost
