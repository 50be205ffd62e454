#include "app/replay.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "app/close_sink.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
// Interval for offering held records again and for showing progress.
constexpr milliseconds kWatchInterval{100};
// Time without an acknowledgement after which the brokers are given up.
constexpr std::chrono::seconds kSilenceLimit{60};

}  // namespace

absl::StatusOr<std::unique_ptr<Replay>> Replay::Create(
    asio::any_io_executor executor, const Config& config, SinkFactory sinks,
    Options options) {
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<RecordBuilder> builder,
                           RecordBuilder::Create(config.outbox));
  return std::unique_ptr<Replay>(new Replay(executor, config, std::move(sinks),
                                            std::move(options),
                                            std::move(builder)));
}

Replay::Replay(asio::any_io_executor executor, const Config& config,
               SinkFactory sinks, Options options,
               std::unique_ptr<RecordBuilder> builder)
    : executor_(executor),
      config_(config),
      options_(std::move(options)),
      builder_(std::move(builder)),
      source_(executor, config.postgres, config.outbox,
              ReferencesOf(builder_->routes()), *this),
      shutdown_watch_(executor, config.postgres.server, "walpost:replay:side"),
      sinks_(std::move(sinks)),
      rate_(options_.per_second),
      watch_timer_(executor),
      drain_timer_(executor) {}

asio::awaitable<absl::Status> Replay::Run() {
  absl::Status status = co_await source_.Open(options_.request);
  if (!status.ok()) co_return status;
  opened_ = true;
  counted_through_ = source_.range().from;
  RecordMark mark;
  mark.header = "walpost-replay";
  mark.value = fmt::format("{}-{}", source_.range().from.ToString(),
                           source_.range().to.ToString());
  mark.topic_prefix = options_.topic_prefix;
  builder_->SetMark(std::move(mark));
  if (!options_.dry_run) status = StartSink();
  if (!status.ok()) co_return status;
  asio::co_spawn(executor_, Watch(), asio::detached);
  asio::co_spawn(executor_, WatchServer(), asio::detached);
  status = co_await source_.Stream();
  if (status.ok() && sink_ != nullptr) {
    status = co_await WaitForAcknowledgements();
  }
  ended_ = true;
  watch_timer_.cancel();
  shutdown_watch_.Stop();
  const MonotonicTime now = Clock::now();
  if (sink_ != nullptr) co_await CloseSink(*sink_, now);
  if (status.ok() && !source_.reached_end()) status = server_trouble_;
  co_return status;
}

absl::Status Replay::StartSink() {
  pipeline_ = std::make_unique<Pipeline>(std::move(builder_), config_.window);
  pipeline_->SetTimeline(source_.range().timeline);
  pipeline_->Resume(source_.range().from, Position());
  SinkOptions options;
  options.client_id_suffix = "-replay";
  WALPOST_ASSIGN_OR_RETURN(
      sink_, sinks_(options, *pipeline_, [this] { OnDrained(); }));
  pipeline_->SetSink(sink_.get());
  acknowledged_at_ = Clock::now();
  return absl::OkStatus();
}

asio::awaitable<absl::Status> Replay::WaitForAcknowledgements() {
  while (!pipeline_->window().empty()) {
    const absl::Status health = Health();
    if (!health.ok()) co_return health;
    if (stop_deadline_ && Clock::now() > *stop_deadline_) break;
    drain_timer_.expires_after(kWatchInterval);
    co_await drain_timer_.async_wait(kAsTuple);
  }
  co_return absl::OkStatus();
}

asio::awaitable<void> Replay::Watch() {
  while (!ended_) {
    if (pipeline_ != nullptr) {
      pipeline_->RetryHeld();
      const uint64_t acknowledged = pipeline_->counters().acknowledged;
      if (std::exchange(acknowledged_, acknowledged) != acknowledged ||
          pipeline_->window().empty()) {
        acknowledged_at_ = Clock::now();
      }
      source_.OnProgress();
    }
    if (options_.progress) {
      const ReplayRange& range = source_.range();
      options_.progress(options_.dry_run ? counted_ : acknowledged_,
                        BytesBetween(range.from, confirmable()),
                        BytesBetween(range.from, range.to));
    }
    watch_timer_.expires_after(kWatchInterval);
    co_await watch_timer_.async_wait(kAsTuple);
  }
}

// A replay must not delay the shutdown of a server.
asio::awaitable<void> Replay::WatchServer() {
  server_trouble_ = co_await shutdown_watch_.Run();
  if (!server_trouble_.ok() && !ended_) Stop();
}

void Replay::OnDrained() {
  source_.OnProgress();
  drain_timer_.cancel();
}

void Replay::Stop() {
  stop_deadline_ = Clock::now() + config_.shutdown_timeout;
  source_.Stop();
}

bool Replay::IsTooOld(const Event& event) const {
  const std::optional<WallTime>& since = source_.range().since;
  return since && event.commit_time < *since;
}

EventTaker::Offer Replay::OnEvent(const Event& event) {
  if (IsTooOld(event)) {
    ++skipped_;
    return Offer::kTaken;
  }
  if (options_.dry_run) return Count(event);
  const MonotonicTime now = Clock::now();
  if (!rate_.MayTake(now)) return Offer::kHold;
  if (pipeline_->OnEvent(event) == Offer::kHold) return Offer::kHold;
  rate_.Take(now);
  return Offer::kTaken;
}

EventTaker::Offer Replay::Count(const Event& event) {
  const absl::StatusOr<Record> record =
      builder_->Build(event, source_.range().timeline);
  if (!record.ok()) return OnUndeliverable(event, record.status());
  ++counted_;
  counted_bytes_ += record->value ? record->value->size() : 0;
  return Offer::kTaken;
}

EventTaker::Offer Replay::OnUndeliverable(const Event& event,
                                          const absl::Status& error) {
  if (IsTooOld(event)) return Offer::kTaken;
  if (!options_.dry_run) return pipeline_->OnUndeliverable(event, error);
  ++undeliverable_;
  return Offer::kTaken;
}

bool Replay::CanTake() const {
  // Without the rate: the end of a transaction need not wait for it.
  return options_.dry_run || pipeline_->CanTake();
}

// Without a rate limit, the producer makes room and reports it.
MonotonicTime Replay::retry_at() const {
  return rate_.MayTake(Clock::now()) ? MonotonicTime::max() : rate_.next();
}

void Replay::OnTransactionEnd(Lsn end_lsn) {
  if (options_.dry_run) {
    counted_through_ = end_lsn;
  } else {
    pipeline_->OnTransactionEnd(end_lsn);
  }
}

// The server begins before the range.
void Replay::OnKeepalive(Lsn wal_end) {
  if (wal_end > confirmable()) OnTransactionEnd(wal_end);
}

Lsn Replay::confirmable() const {
  return pipeline_ == nullptr ? counted_through_ : pipeline_->confirmed();
}

bool Replay::IsDrained() const {
  return pipeline_ == nullptr || pipeline_->IsDrained();
}

absl::Status Replay::Health() const {
  if (pipeline_ == nullptr) return absl::OkStatus();
  if (pipeline_->sink_failure()) return *pipeline_->sink_failure();
  if (pipeline_->stoppage()) {
    return absl::FailedPreconditionError(
        fmt::format("event {} of the commit at {} cannot be delivered: {}",
                    pipeline_->stoppage()->event_id,
                    pipeline_->stoppage()->position.commit_lsn.ToString(),
                    std::string(pipeline_->stoppage()->reason.message())));
  }
  if (Clock::now() - acknowledged_at_ < kSilenceLimit) return absl::OkStatus();
  const std::string missing = sink_->Health().missing_topic;
  return absl::UnavailableError(fmt::format(
      "Kafka has acknowledged nothing for {} s{}", kSilenceLimit.count(),
      missing.empty()
          ? ""
          : fmt::format(": the brokers have not told of topic {}; create it",
                        missing)));
}

Replay::Result Replay::result() const {
  Result result;
  result.range = source_.range();
  result.is_open = opened_;
  result.resume = confirmable();
  result.skipped = skipped_;
  result.events = counted_;
  result.value_bytes = counted_bytes_;
  result.undeliverable = undeliverable_;
  result.is_complete = source_.reached_end();
  if (pipeline_ != nullptr) {
    result.events = pipeline_->counters().acknowledged;
    result.value_bytes = pipeline_->counters().value_bytes;
    result.is_complete &= pipeline_->window().empty();
    result.failed_at_kafka =
        pipeline_->sink_failure() || pipeline_->stoppage() || !Health().ok();
  }
  return result;
}

}  // namespace walpost
