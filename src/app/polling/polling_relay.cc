#include "app/polling/polling_relay.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <random>
#include <utility>

#include "app/process/diverted_event_log.h"
#include "base/status_macros.h"
#include "log/log.h"
#include "loop/as_tuple.h"
#include "postgres/catalog/matching_tables.h"
#include "postgres/connect/session_name.h"
#include "postgres/connect/task_session.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// Time for requests that are on their way when a sink has failed.
constexpr milliseconds kSinkGrace{2000};
// Time for the statements that settle records in flight at the end.
constexpr milliseconds kSettleGrace{2000};
constexpr milliseconds kPollInterval{250};
constexpr milliseconds kEndInterval{5};
// Interval at which it looks for tables that are new by a pattern.
constexpr milliseconds kTablesInterval{2000};
constexpr milliseconds kTablesLimit{10'000};

// A record of an unknown topic must be rejected while its row is held.
SinkOptions PatientSinks(const Config& config) {
  SinkOptions options;
  options.topic_patience = std::min(BrokerContact::kTopicPatience,
                                    config.polling.transaction_timeout / 2);
  return options;
}

// A polled row has no position in the order of commits.
OutboxOptions WithoutPosition(OutboxOptions outbox) {
  outbox.route.position_header = false;
  return outbox;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PollingRelay>> PollingRelay::Create(
    asio::any_io_executor executor, const Config& config,
    const TableExpansion& before, SinkFactory sinks) {
  WALPOST_ASSIGN_OR_RETURN(
      std::unique_ptr<RecordBuilder> builder,
      RecordBuilder::Create(WithoutPosition(config.outbox)));
  std::unique_ptr<PollingRelay> relay(
      new PollingRelay(executor, config, before.has_streamed, std::move(sinks),
                       std::move(builder)));
  WALPOST_RETURN_IF_ERROR(relay->sinks_.Start());
  relay->MakePollers();
  return relay;
}

PollingRelay::PollingRelay(asio::any_io_executor executor, const Config& config,
                           bool has_polled, SinkFactory sinks,
                           std::unique_ptr<RecordBuilder> builder)
    : executor_(executor),
      config_(config),
      has_polled_(has_polled),
      knows_tables_(config.outbox.patterns.empty()),
      polling_sender_(std::move(builder), config.window),
      sinks_(std::move(sinks), PatientSinks(config), polling_sender_,
             [this] { WakePollers(); }),
      timer_(executor),
      tables_timer_(executor),
      backoff_(Backoff::Options{}, std::random_device()()),
      state_log_(Clock::now()),
      brokers_(Clock::now()) {
  polling_sender_.SetErrorActions(config.on_error, LogDivertedEvent);
  polling_sender_.SetOnFailure([this] { timer_.cancel(); });
}

void PollingRelay::MakePollers() {
  for (size_t i = 0; i < config_.outbox.tables.size(); ++i) {
    TablePoller::Options options;
    options.server = config_.postgres.server;
    options.application_name = SessionName(config_.postgres.slot, "polling");
    options.polling = config_.polling;
    options.outbox = config_.outbox;
    options.source = i;
    pollers_.push_back(std::make_unique<TablePoller>(
        executor_, std::move(options), polling_sender_));
  }
}

asio::awaitable<absl::Status> PollingRelay::Run() {
  for (const auto& poller : pollers_) {
    asio::co_spawn(executor_, poller->Run(), asio::detached);
  }
  if (!knows_tables_) {
    asio::co_spawn(executor_, WatchTables(), asio::detached);
  }
  absl::Status hopeless;
  while (!shutdown_deadline_ && hopeless.ok()) {
    if (HasFailedSink()) co_await GiveUpSink();
    if (sinks_.sink() == nullptr && Clock::now() >= sink_at_) ReplaceSink();
    NoteBrokers();
    state_log_.Update(Signs(), Clock::now());
    hopeless = Hopeless();
    if (shutdown_deadline_ || !hopeless.ok()) break;
    MonotonicTime next = Clock::now() + kPollInterval;
    if (sinks_.sink() == nullptr) next = std::min(next, sink_at_);
    timer_.expires_at(next);
    co_await timer_.async_wait(kAsTuple);
  }
  co_await End();
  if (shutdown_deadline_) co_return absl::OkStatus();
  co_return hopeless;
}

asio::awaitable<void> PollingRelay::WatchTables() {
  while (!shutdown_deadline_) {
    tables_trouble_ = co_await LookForTables();
    tables_timer_.expires_after(kTablesInterval);
    co_await tables_timer_.async_wait(kAsTuple);
  }
}

// Returns when the connection is lost, or there is a table.
asio::awaitable<absl::Status> PollingRelay::LookForTables() {
  ConnectionOptions options = TaskSession(config_.postgres, "tables");
  WALPOST_CO_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor_, options));
  while (!shutdown_deadline_) {
    OutboxOptions outbox = config_.outbox;
    connection->set_deadline(Clock::now() + kTablesLimit);
    WALPOST_CO_RETURN_IF_ERROR(co_await ExpandPatterns(*connection, outbox));
    if (!HasSameTables(outbox, config_.outbox)) {
      MakeWayFor(std::move(outbox));
      co_return absl::OkStatus();
    }
    if (!std::exchange(knows_tables_, true) && !has_polled_) {
      WarnOfUnmatchedPatterns(outbox);
    }
    tables_trouble_ = absl::OkStatus();
    tables_timer_.expires_after(kTablesInterval);
    co_await tables_timer_.async_wait(kAsTuple);
  }
  co_return absl::OkStatus();
}

// The next relay polls them, too.
void PollingRelay::MakeWayFor(OutboxOptions outbox) {
  if (shutdown_deadline_) return;
  const bool polls = std::ranges::any_of(
      pollers_, [](const auto& poller) { return poller->was_ready(); });
  LogInfo("polling {} tables from now on, {} before", outbox.tables.size(),
          config_.outbox.tables.size());
  next_ = TableExpansion{std::move(outbox), {}, has_polled_ || polls};
  shutdown_deadline_ = Clock::now() + config_.shutdown_timeout;
  timer_.cancel();
}

// Records that a poller calls back must not arrive later; others may still
// arrive.
asio::awaitable<void> PollingRelay::GiveUpSink() {
  const bool is_purge = polling_sender_.purge_wanted();
  LogWarn("replacing the {} producer: {}", WordsOf(config_.sink).name,
          std::string(polling_sender_.failure()->message()));
  MonotonicTime deadline = Clock::now();
  // Well within the rest of a lease that is called back.
  if (!is_purge) {
    deadline += std::min<milliseconds>(kSinkGrace, config_.polling.lease / 12);
  }
  co_await sinks_.Close(deadline);
  ++rewinds_;
  WakePollers();
  sink_at_ = Clock::now();
  if (!is_purge) sink_at_ += backoff_.Next();
}

void PollingRelay::ReplaceSink() {
  sink_trouble_ = sinks_.Start();
  if (!sink_trouble_.ok()) {
    LogError("{}", std::string(sink_trouble_.message()));
    sink_at_ = Clock::now() + backoff_.Next();
  }
  WakePollers();
}

asio::awaitable<void> PollingRelay::End() {
  for (const auto& poller : pollers_) poller->Stop();
  MonotonicTime deadline = Clock::now() + kSinkGrace;
  if (shutdown_deadline_) deadline = *shutdown_deadline_;
  while (!AllEnded() && Clock::now() < deadline && !HasFailedSink()) {
    state_log_.Update(Signs(), Clock::now());
    timer_.expires_after(kEndInterval);
    co_await timer_.async_wait(kAsTuple);
  }
  // After this every record has its report.
  const MonotonicTime now = Clock::now();
  co_await sinks_.Close(now);
  WakePollers();
  const MonotonicTime settled_by = Clock::now() + kSettleGrace;
  while (!AllEnded() && Clock::now() < settled_by) {
    timer_.expires_after(kEndInterval);
    co_await timer_.async_wait(kAsTuple);
  }
  for (const auto& poller : pollers_) poller->Abandon();
}

void PollingRelay::Shutdown() {
  if (shutdown_deadline_) return;
  shutdown_deadline_ = Clock::now() + config_.shutdown_timeout;
  LogInfo("shutting down: {} records in flight",
          polling_sender_.in_flight_records());
  timer_.cancel();
}

void PollingRelay::RenewCredentials() {
  const Sink* sink = sinks_.sink();
  if (shutdown_deadline_ || sink == nullptr) return;
  if (!sink->credentials_have_changed()) return;
  polling_sender_.OnSinkFailed(
      absl::AbortedError("its credentials have changed"));
}

absl::Status PollingRelay::Hopeless() const {
  if (has_polled_) return absl::OkStatus();
  if (!knows_tables_ && absl::IsFailedPrecondition(tables_trouble_)) {
    return tables_trouble_;
  }
  for (const auto& poller : pollers_) {
    const absl::Status trouble = poller->trouble();
    if (!poller->was_ready() && (absl::IsFailedPrecondition(trouble) ||
                                 absl::IsInvalidArgument(trouble))) {
      return trouble;
    }
  }
  return absl::OkStatus();
}

bool PollingRelay::HasFailedSink() const {
  return sinks_.sink() != nullptr && polling_sender_.failure();
}

bool PollingRelay::AllEnded() const {
  return std::ranges::all_of(
      pollers_, [](const auto& poller) { return poller->has_ended(); });
}

bool PollingRelay::HasPendingRows() const {
  return std::ranges::any_of(pollers_, [](const auto& poller) {
    return poller->report().pending > 0;
  });
}

void PollingRelay::WakePollers() {
  for (const auto& poller : pollers_) poller->Wake();
}

void PollingRelay::NoteBrokers() {
  const MonotonicTime now = Clock::now();
  // Rows that were returned still wait for the brokers, in their table.
  const bool waits = polling_sender_.in_flight_records() > 0 ||
                     !polling_sender_.delay().empty();
  const bool moved = brokers_.Look(polling_sender_.counters().acknowledged,
                                   waits, sinks_.Health(), now);
  if (moved) backoff_.Reset();
  polling_sender_.SetTopicsAreKnown(brokers_.know_topics(now));
}

}  // namespace walpost
