#include "app/relay.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <random>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "spdlog/spdlog.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

// The most that a fast shutdown of the server waits for Kafka.
constexpr milliseconds kServerShutdownGrace{2000};
// For requests that are on their way when a producer is given up.
constexpr milliseconds kProducerGrace{2000};
// How often held records are offered again, and the state is looked at.
constexpr milliseconds kWatchInterval{250};
constexpr seconds kProgressLogInterval{10};
// A record in flight for longer than this means that Kafka does not answer.
constexpr seconds kStuckAfter{8};
constexpr seconds kBehindAfter{2};
// The same damage this many times in a row is for an operator.
constexpr int kMostDamages = 3;

}  // namespace

absl::StatusOr<std::unique_ptr<Relay>> Relay::Create(
    asio::any_io_executor executor, const Config& config) {
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<RecordBuilder> builder,
                           RecordBuilder::Create(config.outbox));
  std::unique_ptr<Relay> relay(new Relay(executor, config, std::move(builder)));
  WALPOST_RETURN_IF_ERROR(relay->StartProducer());
  return relay;
}

Relay::Relay(asio::any_io_executor executor, const Config& config,
             std::unique_ptr<RecordBuilder> builder)
    : executor_(executor),
      config_(config),
      pipeline_(std::move(builder), config.window),
      source_(executor, config.postgres, config.outbox, pipeline_),
      side_session_(
          executor, config.postgres.conninfo, config.postgres.slot,
          [this] { OnServerShutdown(); },
          [this](const SlotReport& report) { slot_report_ = report; }),
      retry_timer_(executor),
      watch_timer_(executor),
      backoff_(Backoff::Options{}, std::random_device()()),
      state_since_(Clock::now()),
      last_acknowledged_at_(Clock::now()),
      brokers_seen_at_(Clock::now()),
      last_progress_log_(Clock::now()) {}

absl::Status Relay::StartProducer() {
  ProducerOptions options = config_.kafka;
  options.max_records = config_.window.max_records;
  WALPOST_ASSIGN_OR_RETURN(
      producer_,
      Producer::Create(executor_, options, pipeline_, [this] { OnDrained(); }));
  pipeline_.SetSink(producer_.get());
  return absl::OkStatus();
}

asio::awaitable<absl::Status> Relay::Run() {
  asio::co_spawn(executor_, Watch(), asio::detached);
  asio::co_spawn(executor_, side_session_.Run(), asio::detached);
  absl::Status status;
  while (!shutdown_deadline_) {
    status = co_await Session();
    if (shutdown_deadline_) break;
    if (IsHopeless(status)) break;
    if (pipeline_.sink_failure()) {
      status = *pipeline_.sink_failure();
      co_await ReplaceProducer();
    }
    co_await WaitBeforeNextSession(status);
  }
  ended_ = true;
  watch_timer_.cancel();
  side_session_.Stop();
  co_await CloseProducer();
  if (shutdown_deadline_) status = absl::OkStatus();
  co_return status;
}

asio::awaitable<absl::Status> Relay::Session() {
  absl::Status status = co_await source_.Open();
  if (!status.ok()) co_return status;
  ++sessions_;
  has_streamed_ = true;
  trouble_ = absl::OkStatus();
  spdlog::info("streaming from slot {} at {} (system {}, timeline {})",
               config_.postgres.slot, pipeline_.confirmed().ToString(),
               source_.system_identifier(), source_.timeline());
  if (shutdown_deadline_) source_.Drain(*shutdown_deadline_);
  status = co_await source_.Stream();
  if (absl::IsDataLoss(status)) NoteDamage(status);
  co_return status;
}

// Before the first stream, what an operator must mend ends the process.
bool Relay::IsHopeless(const absl::Status& status) const {
  return !has_streamed_ && (absl::IsFailedPrecondition(status) ||
                            absl::IsInvalidArgument(status));
}

void Relay::NoteDamage(const absl::Status& status) {
  if (pipeline_.confirmed() != damaged_at_) times_damaged_ = 0;
  damaged_at_ = pipeline_.confirmed();
  ++times_damaged_;
  spdlog::error("{} (after {}, {} times)", std::string(status.message()),
                damaged_at_.ToString(), times_damaged_);
}

asio::awaitable<void> Relay::ReplaceProducer() {
  spdlog::warn("replacing the Kafka producer: {}",
               std::string(pipeline_.sink_failure()->message()));
  co_await CloseProducer();
  pipeline_.Rewind();
  const absl::Status status = StartProducer();
  if (!status.ok()) spdlog::error("{}", std::string(status.message()));
}

asio::awaitable<void> Relay::CloseProducer() {
  if (producer_ == nullptr) co_return;
  MonotonicTime deadline = Clock::now() + kProducerGrace;
  if (shutdown_deadline_) deadline = std::min(deadline, *shutdown_deadline_);
  co_await producer_->Close(deadline);
  pipeline_.SetSink(nullptr);
  producer_.reset();
}

asio::awaitable<void> Relay::WaitBeforeNextSession(absl::Status reason) {
  if (reason.ok()) co_return;
  const milliseconds wait = backoff_.Next();
  trouble_ = reason;
  spdlog::warn("{}; trying again in {} ms", std::string(reason.message()),
               wait.count());
  retry_timer_.expires_after(wait);
  co_await retry_timer_.async_wait(kAsTuple);
}

void Relay::Shutdown() {
  if (shutdown_deadline_) return;
  shutdown_deadline_ = Clock::now() + config_.shutdown_timeout;
  spdlog::info("shutting down: {} records in flight",
               pipeline_.window().in_flight_records());
  source_.Drain(*shutdown_deadline_);
  retry_timer_.cancel();
}

void Relay::OnDrained() {
  if (pipeline_.sink_failure()) source_.Abandon();
  source_.OnProgress();
}

void Relay::OnServerShutdown() {
  if (!source_.is_open()) return;
  spdlog::warn("Postgres is shutting down: leaving its stream");
  source_.Drain(Clock::now() + kServerShutdownGrace);
}

asio::awaitable<void> Relay::Watch() {
  while (!ended_) {
    if (pipeline_.held()) pipeline_.RetryHeld();
    if (pipeline_.sink_failure()) source_.Abandon();
    source_.OnProgress();
    NoteAcknowledgements();
    UpdateState();
    LogProgress();
    watch_timer_.expires_after(kWatchInterval);
    co_await watch_timer_.async_wait(kAsTuple);
  }
}

void Relay::UpdateState() {
  std::string reason;
  const RelayState state = CurrentState(reason);
  if (state == state_ && reason == reason_) return;
  if (state != state_) state_since_ = Clock::now();
  if (state == RelayState::kStuck) {
    spdlog::error("stuck: {}", reason);
  } else if (state != state_) {
    spdlog::info("{}{}{}", ToString(state), reason.empty() ? "" : ": ", reason);
  }
  state_ = state;
  reason_ = std::move(reason);
}

RelayState Relay::CurrentState(std::string& reason) const {
  if (shutdown_deadline_) return RelayState::kDraining;
  if (const auto& stoppage = pipeline_.stoppage()) {
    reason = fmt::format(
        "the event at {}/{}{} cannot be delivered: {}. Nothing after it goes "
        "out and nothing is confirmed past it",
        stoppage->position.commit_lsn.ToString(), stoppage->position.ordinal,
        stoppage->event_id.empty()
            ? ""
            : fmt::format(" (id {})", stoppage->event_id),
        std::string(stoppage->reason.message()));
    return RelayState::kStuck;
  }
  if (pipeline_.held() && absl::IsUnavailable(*pipeline_.held())) {
    reason = std::string(pipeline_.held()->message());
    return RelayState::kStuck;
  }
  if (!trouble_.ok()) {
    reason = std::string(trouble_.message());
    const bool poison = times_damaged_ >= kMostDamages;
    return has_streamed_ || poison || !absl::IsUnavailable(trouble_)
               ? RelayState::kStuck
               : RelayState::kStarting;
  }
  if (Clock::now() - brokers_seen_at_ > kStuckAfter) {
    reason = fmt::format(
        "no Kafka broker is reachable at {}: is kafka.brokers right, and are "
        "the brokers up?",
        config_.kafka.brokers);
    return RelayState::kStuck;
  }
  const InFlightRecord* oldest = pipeline_.window().oldest();
  if (oldest == nullptr) {
    return source_.is_open() && kafka_was_reached_ ? RelayState::kStreaming
                                                   : RelayState::kStarting;
  }
  const auto unanswered = Clock::now() - last_acknowledged_at_;
  const auto age = WallNow() - oldest->commit_time;
  if (unanswered > kStuckAfter) {
    reason = fmt::format(
        "Kafka has acknowledged nothing for {} s ({} records in flight); are "
        "the brokers at {} reachable, and is min.insync.replicas met?",
        std::chrono::duration_cast<seconds>(unanswered).count(),
        pipeline_.window().in_flight_records(), config_.kafka.brokers);
    return RelayState::kStuck;
  }
  return age > kBehindAfter ? RelayState::kCatchingUp : RelayState::kStreaming;
}

void Relay::NoteAcknowledgements() {
  const uint64_t acknowledged = pipeline_.counters().acknowledged;
  const bool moved = acknowledged != acknowledged_before_;
  if (moved) backoff_.Reset();
  if (moved || (producer_ != nullptr && producer_->brokers_up() > 0)) {
    brokers_seen_at_ = Clock::now();
    kafka_was_reached_ = true;
  }
  if (moved || pipeline_.window().empty()) last_acknowledged_at_ = Clock::now();
  acknowledged_before_ = acknowledged;
}

void Relay::LogProgress() {
  const DeliveryCounters& counters = pipeline_.counters();
  if (Clock::now() - last_progress_log_ < kProgressLogInterval) return;
  last_progress_log_ = Clock::now();
  if (counters.acknowledged == logged_before_) return;
  logged_before_ = counters.acknowledged;
  const auto quantile_millis = [this](double fraction) {
    return static_cast<double>(pipeline_.latency().Quantile(fraction).count()) /
           1e3;
  };
  spdlog::info(
      "{} records acknowledged ({} in flight), confirmed {}, p50 {:.1f} ms, "
      "p99 {:.1f} ms",
      counters.acknowledged, pipeline_.window().in_flight_records(),
      pipeline_.confirmed().ToString(), quantile_millis(0.5),
      quantile_millis(0.99));
}

RelayStatus Relay::Status() const {
  RelayStatus status;
  status.state = state_;
  status.reason = reason_;
  status.in_state_for =
      std::chrono::duration_cast<seconds>(Clock::now() - state_since_);
  status.slot = config_.postgres.slot;
  status.system_identifier = source_.system_identifier();
  status.timeline = source_.timeline();
  status.server_version = source_.server_version();
  status.server_wal_end = source_.server_wal_end();
  if (slot_report_) {
    status.server_wal_end =
        std::max(status.server_wal_end, slot_report_->server_wal_end);
    status.retained_wal_bytes = slot_report_->retained_wal_bytes;
    status.wal_status = slot_report_->wal_status;
  }
  const AcknowledgementWindow& window = pipeline_.window();
  status.received = window.received();
  status.confirmed = window.confirmed();
  status.in_flight_records = window.in_flight_records();
  status.in_flight_bytes = window.in_flight_bytes();
  status.max_in_flight_records = config_.window.max_records;
  status.max_in_flight_bytes = config_.window.max_bytes;
  if (const InFlightRecord* oldest = window.oldest()) {
    status.oldest_in_flight = WallNow() - oldest->commit_time;
  }
  status.counters = pipeline_.counters();
  status.latency = pipeline_.latency();
  status.reconnects = sessions_ > 0 ? sessions_ - 1 : 0;
  const TransactionAssembler::Skipped skipped = source_.skipped();
  status.unknown_messages = skipped.unknown_kinds;
  status.rows_of_other_tables = skipped.rows_of_other_tables;
  return status;
}

}  // namespace walpost
