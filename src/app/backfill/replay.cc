#include "app/backfill/replay.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "app/backfill/read_events_on_record.h"
#include "backfill/sink_rounds.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "loop/as_tuple.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// Interval for offering held records again and for showing progress.
constexpr milliseconds kWatchInterval{100};

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
      references_(ReferencesOf(builder_->routes())),
      shutdown_monitor_(executor, config.postgres.server,
                        "walpost:replay:side"),
      sinks_(std::move(sinks)),
      watch_timer_(executor) {
  source_ = NewSource();
}

// Its slot has a name of its own: that of the source before is still there when
// the next one is made.
std::unique_ptr<ReplaySource> Replay::NewSource() {
  return std::make_unique<ReplaySource>(executor_, config_.postgres,
                                        config_.outbox, references_, backfill_,
                                        rounds_++);
}

asio::awaitable<absl::Status> Replay::Run() {
  absl::Status status = co_await source_->Open(options_.request);
  range_ = source_->range();
  if (!status.ok()) co_return status;
  opened_ = true;
  RecordMark mark;
  mark.header = "walpost-replay";
  mark.value =
      fmt::format("{}-{}", range_.from.ToString(), range_.to.ToString());
  mark.topic_prefix = options_.topic_prefix;
  builder_->SetMark(std::move(mark));
  status = co_await ReadOnRecord();
  if (status.ok()) status = Begin();
  if (!status.ok()) co_return status;
  asio::co_spawn(executor_, Watch(), asio::detached);
  asio::co_spawn(executor_, WatchServer(), asio::detached);
  status = co_await Stream();
  if (!status.ok()) status = co_await SendAgain(std::move(status));
  ended_ = true;
  watch_timer_.cancel();
  shutdown_monitor_.Stop();
  const MonotonicTime now = Clock::now();
  if (run_ != nullptr) co_await run_->Close(now);
  if (status.ok() && !source_->reached_end()) status = server_trouble_;
  co_return status;
}

asio::awaitable<absl::Status> Replay::Stream() {
  absl::Status status = co_await source_->Stream();
  if (status.ok()) status = co_await WaitForAcknowledgements();
  co_return status;
}

// Rounds, for as long as the brokers reject records and each round brings
// something further. `status`: of the last one.
asio::awaitable<absl::Status> Replay::SendAgain(absl::Status status) {
  SinkRounds rounds;
  while (run_ != nullptr && !status.ok()) {
    const bool has_failed = run_->sender().sink_failure().has_value();
    // The last reports say which records the brokers reject.
    if (has_failed) co_await run_->Close(Clock::now() + SinkRounds::kGrace);
    if (stop_deadline_ || !backfill_.has_rejected_events()) break;
    const DeliveryCounters& counters = run_->sender().counters();
    if (!rounds.MayBegin(counters.acknowledged + counters.set_aside())) break;
    backfill_.Continue();
    other_origin_ += source_->skipped().events_of_other_origins;
    source_ = NewSource();
    ReplayRequest rest;
    rest.from = backfill_.resume();
    rest.to = range_.to;
    status = co_await source_->Open(rest);
    if (status.ok()) status = run_->Start();
    if (status.ok()) status = co_await Stream();
  }
  co_return status;
}

asio::awaitable<absl::Status> Replay::ReadOnRecord() {
  OnRecordQuery query;
  query.verb = "replay";
  query.system_identifier = source_->system_identifier();
  query.if_unknown = ParkedList::IfUnknown::kEmpty;
  absl::StatusOr<EventsOnRecord> on_record = co_await ReadEventsOnRecord(
      executor_, config_, query, &records_failed_at_kafka_);
  if (!on_record.ok()) co_return on_record.status();
  on_record_ = *std::move(on_record);
  co_return absl::OkStatus();
}

absl::Status Replay::Begin() {
  RangeBackfill::Options options;
  options.from = range_.from;
  options.since = range_.since;
  options.timeline = range_.timeline;
  options.per_second = options_.per_second;
  options.clock = [] { return Clock::now(); };
  options.sink_trouble = [this] { return run_->SinkTrouble(Clock::now()); };
  if (options_.dry_run) {
    backfill_.BeginDryRun(std::move(options), *std::move(on_record_),
                          std::move(builder_));
    return absl::OkStatus();
  }
  DeliveryRun::Options delivery;
  delivery.window = config_.window;
  delivery.sink.client_id_suffix = "-replay";
  delivery.silence_limit = DeliveryRun::kSilenceLimit;
  delivery.on_error = config_.on_error;
  run_ = std::make_unique<DeliveryRun>(executor_, std::move(builder_), sinks_,
                                       std::move(delivery),
                                       [this] { source_->OnProgress(); });
  backfill_.Begin(std::move(options), *std::move(on_record_), run_->sender());
  return run_->Start();
}

asio::awaitable<absl::Status> Replay::WaitForAcknowledgements() {
  if (run_ == nullptr) co_return absl::OkStatus();
  const auto may_wait = [this]() -> absl::StatusOr<bool> {
    WALPOST_RETURN_IF_ERROR(backfill_.Health());
    return !stop_deadline_ || Clock::now() <= *stop_deadline_;
  };
  co_return co_await run_->WaitForAcknowledgements(may_wait);
}

asio::awaitable<void> Replay::Watch() {
  while (!ended_) {
    if (run_ != nullptr) {
      run_->Tick(Clock::now());
      source_->OnProgress();
    }
    if (options_.progress) {
      const ReplayRange& range = range_;
      options_.progress(backfill_.counts().events,
                        BytesBetween(range.from, backfill_.resume()),
                        BytesBetween(range.from, range.to));
    }
    watch_timer_.expires_after(kWatchInterval);
    co_await watch_timer_.async_wait(kAsTuple);
  }
}

// A replay must not delay the shutdown of a server.
asio::awaitable<void> Replay::WatchServer() {
  server_trouble_ = co_await shutdown_monitor_.Run();
  if (!server_trouble_.ok() && !ended_) Stop();
}

void Replay::Stop() {
  stop_deadline_ = Clock::now() + config_.shutdown_timeout;
  source_->Stop();
}

Replay::Result Replay::result() const {
  Result result;
  result.range = range_;
  result.is_open = opened_;
  result.is_complete = source_->reached_end() && backfill_.IsDrained();
  result.failed_at_kafka =
      records_failed_at_kafka_ || (run_ != nullptr && !backfill_.Health().ok());
  result.resume = backfill_.resume();
  result.counts = backfill_.counts();
  result.other_origin =
      other_origin_ + source_->skipped().events_of_other_origins;
  return result;
}

}  // namespace walpost
