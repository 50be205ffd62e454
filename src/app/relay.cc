#include "app/relay.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <random>
#include <utility>

#include "app/existing_rows_warning.h"
#include "base/reason_code.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/sqlstate.h"
#include "spdlog/spdlog.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

// How long a fast shutdown of the server waits for Kafka at most.
constexpr milliseconds kServerShutdownGrace{2000};
// A stream that lasted longer resets the series of failures.
constexpr milliseconds kSettledAfter{10'000};
// Time for requests that are on their way when a producer is given up.
constexpr milliseconds kProducerGrace{2000};
// Interval for offering held records again and for checking the state.
constexpr milliseconds kWatchInterval{250};
// Interval for checking whether an operator has resolved a gap.
constexpr milliseconds kGapInterval{2000};
// Interval at which a standby tries to get the slot.
constexpr milliseconds kStandbyInterval{500};

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
      checkpoints_(executor, config, pipeline_,
                   [this] { source_.OnProgress(); }),
      source_(executor, config.postgres, config.outbox, pipeline_,
              checkpoints_.writer()),
      side_session_(
          executor, config.postgres, config.outbox,
          pipeline_.builder().routes(), [this] { OnServerShutdown(); },
          [this](const SlotReport& report) { OnSlotReport(report); }),
      guard_keeper_(executor, config.postgres),
      snapshot_(executor, config_),
      retry_timer_(executor),
      watch_timer_(executor),
      backoff_(Backoff::Options{}, std::random_device()()),
      wal_budget_(config.postgres.wal_budget_bytes),
      state_log_(Clock::now()),
      oldest_wait_(Clock::now()),
      brokers_seen_at_(Clock::now()),
      progress_log_(Clock::now()) {}

absl::Status Relay::StartProducer() {
  WALPOST_ASSIGN_OR_RETURN(producer_,
                           Producer::Create(
                               executor_, config_.kafka, pipeline_,
                               [this] { OnDrained(); }, &kafka_memory_));
  pipeline_.SetSink(producer_.get());
  return absl::OkStatus();
}

asio::awaitable<absl::Status> Relay::Run() {
  asio::co_spawn(executor_, Watch(), asio::detached);
  asio::co_spawn(executor_, side_session_.Run(), asio::detached);
  asio::co_spawn(executor_, guard_keeper_.Run(), asio::detached);
  absl::Status status;
  while (!shutdown_deadline_) {
    status = producer_ == nullptr ? StartProducer() : absl::OkStatus();
    if (status.ok() && config_.postgres.initial_snapshot) {
      status = co_await snapshot_.Run();
    } else if (status.ok() && !looked_for_rows_) {
      looked_for_rows_ = co_await WarnOfExistingRows(executor_, config_);
    }
    if (status.ok()) status = co_await Session();
    if (shutdown_deadline_) break;
    if (IsHopeless(status)) break;
    if (pipeline_.sink_failure()) status = *pipeline_.sink_failure();
    co_await HoldGap(status);
    if (pipeline_.sink_failure() || absl::IsAborted(status)) {
      NoteFailure(status);
      co_await GiveUpProducer(status);
    }
    if (poison_watch_.is_poison()) {
      co_await WaitForOperator(status);
    } else {
      co_await WaitBeforeNextSession(status);
    }
  }
  ended_ = true;
  watch_timer_.cancel();
  side_session_.Stop();
  guard_keeper_.Stop();
  MonotonicTime deadline = Clock::now() + kProducerGrace;
  if (shutdown_deadline_) deadline = std::min(deadline, *shutdown_deadline_);
  co_await CloseProducer(deadline);
  if (shutdown_deadline_) status = absl::OkStatus();
  co_return status;
}

asio::awaitable<absl::Status> Relay::Session() {
  absl::Status status = co_await checkpoints_.Load();
  if (!status.ok()) co_return status;
  source_.SetCheckpoint(checkpoints_.loaded());
  co_await WaitForCluster();
  status = co_await source_.Open();
  if (!status.ok()) co_return status;
  found_gap_.reset();
  side_session_.SetReference(source_.findings(), source_.memory().coverage());
  for (const Finding& finding : source_.findings()) {
    if (finding.severity != Severity::kWarning || sessions_ > 0) continue;
    spdlog::warn("{} {}: {}", finding.subject, finding.text, finding.remedy);
  }
  checkpoints_.Begin(DescribeSession());
  ExpectKafka();
  ++sessions_;
  has_streamed_ = true;
  server_leaves_ = false;
  trouble_ = absl::OkStatus();
  spdlog::info("streaming from slot {} at {} (system {}, timeline {})",
               config_.postgres.slot, pipeline_.confirmed().ToString(),
               source_.memory().system_identifier(),
               source_.memory().timeline());
  if (shutdown_deadline_) source_.Drain(*shutdown_deadline_);
  const MonotonicTime begun_at = Clock::now();
  status = co_await source_.Stream();
  if (Clock::now() - begun_at > kSettledAfter) backoff_.Reset();
  checkpoints_.Pause();
  if (checkpoints_.is_overtaken()) status = checkpoints_.writer().status();
  if (found_gap_) status = StatusOfGap(*found_gap_);
  if (absl::IsDataLoss(status)) NoteFailure(status);
  co_return status;
}

CheckpointKeeper::Session Relay::DescribeSession() {
  CheckpointKeeper::Session session;
  session.system_identifier = source_.memory().system_identifier();
  session.timeline = source_.memory().timeline();
  session.birth = source_.memory().birth();
  session.coverage = source_.memory().coverage();
  if (producer_ != nullptr) session.kafka_cluster = producer_->cluster_id();
  return session;
}

void Relay::PokeCheckpoints() {
  checkpoints_.Poke(shutdown_deadline_.has_value() || server_leaves_);
  if (checkpoints_.is_overtaken()) source_.Abandon();
}

// Before the first stream, an error that an operator must fix stops the
// process. A gap does not: somebody has to look at it.
bool Relay::IsHopeless(const absl::Status& status) const {
  return !has_streamed_ && ReasonCodeOf(status).empty() &&
         (absl::IsFailedPrecondition(status) ||
          absl::IsInvalidArgument(status));
}

void Relay::NoteFailure(const absl::Status& status) {
  poison_watch_.OnFailure(status, pipeline_.confirmed());
  if (!absl::IsDataLoss(status)) return;
  spdlog::error("{} (after {}, {} times)", std::string(status.message()),
                poison_watch_.confirmed().ToString(), poison_watch_.times());
}

// After a failure of the producer, records on their way may still arrive. If
// the source has to start over, they must not. Run makes the next producer.
asio::awaitable<void> Relay::GiveUpProducer(absl::Status reason) {
  spdlog::warn("replacing the Kafka producer: {}",
               std::string(reason.message()));
  MonotonicTime deadline = Clock::now();
  if (pipeline_.sink_failure()) deadline += kProducerGrace;
  co_await CloseProducer(deadline);
  if (source_.TakeStartOver()) {
    pipeline_.StartOver();
    kafka_memory_.Forget();
    oldest_wait_.StartOver();
  } else {
    pipeline_.Rewind();
  }
}

asio::awaitable<void> Relay::CloseProducer(MonotonicTime deadline) {
  if (producer_ == nullptr) co_return;
  co_await producer_->Close(deadline);
  pipeline_.SetSink(nullptr);
  producer_.reset();
}

asio::awaitable<void> Relay::WaitBeforeNextSession(absl::Status reason) {
  if (reason.ok() || shutdown_deadline_) co_return;
  trouble_ = reason;
  milliseconds wait = kStandbyInterval;
  if (GapOf(reason)) {
    // The state reports the reason once. A new gap is recorded at once.
    wait = std::exchange(gap_is_new_, false) ? milliseconds(0) : kGapInterval;
  } else if (SqlstateOf(reason) != kSqlstateObjectInUse) {
    wait = backoff_.Next();
    spdlog::warn("{}; trying again in {} ms", std::string(reason.message()),
                 wait.count());
  }
  retry_timer_.expires_after(wait);
  co_await retry_timer_.async_wait(kAsTuple);
}

// Stays up, not ready, and reports why; our progress is kept.
asio::awaitable<void> Relay::WaitForOperator(absl::Status poison) {
  trouble_ = poison;
  while (!shutdown_deadline_) {
    retry_timer_.expires_at(MonotonicTime::max());
    co_await retry_timer_.async_wait(kAsTuple);
  }
}

void Relay::Shutdown() {
  if (shutdown_deadline_) return;
  shutdown_deadline_ = Clock::now() + config_.shutdown_timeout;
  spdlog::info("shutting down: {} records in flight",
               pipeline_.window().in_flight_records());
  source_.Drain(*shutdown_deadline_);
  snapshot_.Stop(*shutdown_deadline_);
  retry_timer_.cancel();
}

void Relay::OnDrained() {
  if (pipeline_.sink_failure()) source_.Abandon();
  PokeCheckpoints();
  source_.OnProgress();
}

void Relay::OnServerShutdown() {
  if (!source_.is_open()) return;
  spdlog::warn("Postgres is shutting down: leaving its stream");
  server_leaves_ = true;
  source_.Drain(Clock::now() + kServerShutdownGrace);
}

void Relay::OnSlotReport(const SlotReport& report) {
  slot_report_ = report;
  if (report.gap && source_.is_open()) FindGap(*report.gap);
  checkpoints_.OnReport(report);
  // The guard slot stands behind the live slot: the WAL it keeps holds both.
  const bool guard_keeps_more =
      report.guard && !report.guard->is_lost &&
      report.guard->wal.retained_bytes > report.wal.retained_bytes;
  wal_budget_.OnReport(guard_keeps_more ? report.guard->wal : report.wal,
                       Clock::now());
  if (source_.is_open()) {
    guard_keeper_.OnReport(report, wal_budget_.limit_bytes());
  }
  const WalBudget::Level before =
      std::exchange(wal_budget_level_, wal_budget_.level());
  if (wal_budget_level_ == before ||
      wal_budget_level_ == WalBudget::Level::kFine) {
    return;
  }
  spdlog::warn("Postgres keeps {} MiB of WAL for slot {}; the limit is {} MiB",
               wal_budget_.retained_bytes() >> 20, config_.postgres.slot,
               wal_budget_.limit_bytes() >> 20);
}

asio::awaitable<void> Relay::Watch() {
  while (!ended_) {
    NoteAcknowledgements();
    // Before the retry, because that clears the reason of held records.
    state_log_.Update(Diagnose(Signs()), Clock::now());
    CheckKafka();
    if (pipeline_.held()) pipeline_.RetryHeld();
    if (pipeline_.sink_failure()) source_.Abandon();
    PokeCheckpoints();
    source_.OnProgress();
    progress_log_.Tick(Clock::now(), pipeline_);
    watch_timer_.expires_after(kWatchInterval);
    co_await watch_timer_.async_wait(kAsTuple);
  }
}

void Relay::NoteAcknowledgements() {
  const uint64_t acknowledged =
      pipeline_.counters().acknowledged + snapshot_.acknowledged();
  const bool moved = acknowledged != acknowledged_before_;
  if (moved) backoff_.Reset();
  if (moved) brokers_seen_at_ = Clock::now();
  if (producer_ != nullptr) {
    brokers_seen_at_ =
        std::max(brokers_seen_at_, producer_->brokers_heard_at());
  }
  const bool is_connected = producer_ != nullptr && producer_->brokers_up() > 0;
  kafka_was_reached_ |= moved || is_connected;
  oldest_wait_.Look(pipeline_.window(), Clock::now());
  acknowledged_before_ = acknowledged;
}

}  // namespace walpost
