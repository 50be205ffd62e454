#include "app/initial_snapshot.h"

#include "app/slot_founder.h"
#include "spdlog/spdlog.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kLogInterval{5};

}  // namespace

asio::awaitable<absl::Status> TakeInitialSnapshot(
    asio::any_io_executor executor, const Config& config) {
  SlotFounder founder(executor, config);
  const absl::Status connected = co_await founder.Connect();
  if (!connected.ok()) co_return connected;
  if (founder.slot() || founder.birth()) co_return absl::OkStatus();
  spdlog::info("initial snapshot: publishing what the outbox has already");
  TablePublisher::Options options;
  options.mark.header = "walpost-snapshot";
  MonotonicTime logged_at = Clock::now();
  options.progress = [&logged_at](uint64_t done, uint64_t all) {
    if (Clock::now() - logged_at < kLogInterval) return;
    logged_at = Clock::now();
    spdlog::info("initial snapshot: {} of {} rows ({} %)", done, all,
                 done * 100 / all);
  };
  absl::StatusOr<TablePublisher::Counts> counts =
      co_await founder.Publish(std::move(options));
  if (!counts.ok()) co_return counts.status();
  const absl::Status kept = co_await founder.Keep();
  if (!kept.ok()) co_return kept;
  spdlog::info("initial snapshot: {} rows are in Kafka; slot {} begins at {}",
               counts->published, config.postgres.slot,
               founder.consistent_point().ToString());
  co_return absl::OkStatus();
}

}  // namespace walpost
