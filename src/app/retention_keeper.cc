#include "app/retention_keeper.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>

#include "fmt/format.h"
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
  if (pruned.deleted > 0 || pruned.partitions_made > 0) {
    spdlog::info("retention: {}: {} rows deleted, {} partitions made",
                 pruned.table, pruned.deleted, pruned.partitions_made);
  }
  if (pruned.kept > 0) {
    spdlog::warn("retention: {}: {} old rows are kept: not known to be sent",
                 pruned.table, pruned.kept);
  }
}

}  // namespace

Pruner::Options PrunerOptions(const Config& config) {
  using Strategy = PollingOptions::Strategy;
  Pruner::Options options;
  options.postgres = config.postgres;
  options.tables = config.outbox.tables;
  options.retention = config.retention;
  if (config.source == Source::kPolling) {
    const bool is_marked = config.polling.strategy == Strategy::kClaim;
    options.proof = is_marked ? SentProof::kState : SentProof::kNone;
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
  absl::StatusOr<std::vector<Pruned>> result = co_await pruner->Run();
  if (!result.ok()) {
    spdlog::warn("retention: nothing more is pruned for now: {}",
                 std::string(result.status().message()));
    co_return;
  }
  for (const Pruned& pruned : *result) Log(pruned);
}

asio::awaitable<void> RetentionKeeper::Wait(milliseconds time) {
  constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
  timer_.expires_after(time);
  co_await timer_.async_wait(kAsTuple);
}

}  // namespace walpost
