#include "postgres/stream/replay_window_service.h"

#include <random>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"
#include "loop/as_tuple.h"
#include "postgres/connect/session_name.h"
#include "postgres/slot/replay_window_slot.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// Interval for checking whether there is something to do.
constexpr std::chrono::milliseconds kInterval{500};
// Decoding GuardSchedule::kMaxPerAdvance takes seconds.
constexpr std::chrono::minutes kAdvanceLimit{10};
constexpr std::chrono::seconds kRemakeLimit{60};

}  // namespace

ReplayWindowService::ReplayWindowService(asio::any_io_executor executor,
                                         WalSourceOptions options)
    : executor_(executor),
      options_(std::move(options)),
      schedule_(options_.replay),
      timer_(executor),
      backoff_(Backoff::Options{}, std::random_device()()) {}

asio::awaitable<void> ReplayWindowService::Run() {
  while (options_.replay.enabled() && !stopped_) {
    const absl::Status status = co_await Act();
    if (stopped_) break;
    std::chrono::milliseconds wait = kInterval;
    if (!status.ok()) {
      connection_.reset();
      wait = backoff_.Next();
      LogWarn("guard slot {}: {}", ReplayWindowSlotName(options_.slot),
              std::string(status.message()));
    }
    timer_.expires_after(wait);
    co_await timer_.async_wait(kAsTuple);
  }
}

void ReplayWindowService::Stop() {
  stopped_ = true;
  timer_.cancel();
  if (connection_ != nullptr) connection_->waiter().Wake();
}

void ReplayWindowService::OnReport(const SlotReport& report,
                                   uint64_t budget_bytes) {
  target_.reset();
  is_missing_ = !report.guard || report.guard->is_lost;
  if (is_missing_) return;
  GuardSchedule::Slots slots;
  slots.guard = report.guard->confirmed;
  slots.confirmed = report.confirmed;
  slots.wal_end = report.server_wal_end;
  slots.budget_bytes = budget_bytes;
  target_ = schedule_.Next(slots, Clock::now());
  const bool was = std::exchange(was_cut_short_, schedule_.is_cut_short());
  if (was_cut_short_ && !was) {
    LogWarn(
        "replay.window limited: together with the lag of slot {} it may retain "
        "at most half of the WAL budget ({} MiB)",
        options_.slot, budget_bytes >> 20);
  }
}

asio::awaitable<absl::Status> ReplayWindowService::Act() {
  absl::Status status;
  if (std::exchange(is_missing_, false)) {
    status = co_await Remake();
  } else if (target_) {
    const Lsn to = *std::exchange(target_, std::nullopt);
    status = co_await Advance(to);
  } else {
    co_return absl::OkStatus();
  }
  if (status.ok()) backoff_.Reset();
  co_return status;
}

// The failover flag needs a replication connection. It is closed at once,
// because a server that shuts down waits for those.
asio::awaitable<absl::Status> ReplayWindowService::Remake() {
  ConnectionOptions options;
  options.server = options_.server;
  options.application_name = SessionName(options_.slot, "guard");
  options.replication = true;
  WALPOST_CO_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connected,
                              co_await Connection::Connect(executor_, options));
  connected->set_deadline(Clock::now() + kRemakeLimit);
  co_return co_await EnsureGuardSlot(*connected, options_.slot,
                                     options_.failover);
}

asio::awaitable<absl::Status> ReplayWindowService::Advance(Lsn to) {
  if (connection_ == nullptr) {
    ConnectionOptions options;
    options.server = options_.server;
    options.application_name = SessionName(options_.slot, "guard");
    WALPOST_CO_ASSIGN_OR_RETURN(
        connection_, co_await Connection::Connect(executor_, options));
  }
  const std::string guard = ReplayWindowSlotName(options_.slot);
  // On a standby, slots of the primary must not be moved.
  const std::string sql = fmt::format(
      "SELECT pg_replication_slot_advance(slot_name, {}::pg_lsn) FROM "
      "pg_catalog.pg_replication_slots WHERE slot_name = {} AND NOT active "
      "AND confirmed_flush_lsn < {}::pg_lsn AND NOT pg_is_in_recovery()",
      connection_->Literal(to.ToString()), connection_->Literal(guard),
      connection_->Literal(to.ToString()));
  connection_->set_deadline(Clock::now() + kAdvanceLimit);
  absl::StatusOr<QueryRows> advanced = co_await connection_->Execute(sql);
  if (advanced.ok()) {
    LogDebug("guard slot {} advanced to {}", guard, to.ToString());
  }
  co_return advanced.status();
}

}  // namespace walpost
