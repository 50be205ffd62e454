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
constexpr milliseconds kPause{50};

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
      flow_(options_.request, backfill_),
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
                                        sources_++);
}

asio::awaitable<absl::Status> Replay::Run() {
  using Do = ReplayFlow::Do;
  Do next = flow_.Next(Clock::now());
  while (next != Do::kEnd) {
    co_await CarryOut(next);
    next = flow_.Next(Clock::now());
  }
  ended_ = true;
  watch_timer_.cancel();
  shutdown_monitor_.Stop();
  const MonotonicTime now = Clock::now();
  if (run_ != nullptr) co_await run_->Close(now);
  co_return flow_.status();
}

asio::awaitable<void> Replay::CarryOut(ReplayFlow::Do next) {
  using Do = ReplayFlow::Do;
  absl::Status done;
  switch (next) {
    case Do::kOpen:
      co_return co_await Open();
    case Do::kReadOnRecord:
      done = co_await ReadOnRecord();
      break;
    case Do::kBegin:
      Begin();
      break;
    case Do::kStartSink:
      if (run_ != nullptr) done = run_->Start();
      break;
    case Do::kStream:
      done = co_await source_->Stream();
      flow_.OnStreamed(done, source_->reached_end());
      co_return;
    case Do::kWait:
      co_await run_->Wait(kPause);
      co_return;
    case Do::kCloseSink: {
      const MonotonicTime deadline = Clock::now() + SinkRounds::kGrace;
      co_await run_->Close(deadline);
      break;
    }
    case Do::kEnd:
      break;
  }
  flow_.On(done);
}

asio::awaitable<void> Replay::Open() {
  if (flow_.is_open()) {
    other_origin_ += source_->skipped().events_of_other_origins;
    source_ = NewSource();
  }
  ReplayRequest request = flow_.request();
  const absl::Status status = co_await source_->Open(std::move(request));
  if (status.ok()) {
    flow_.OnOpened(source_->range());
  } else {
    flow_.On(status);
  }
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

void Replay::Begin() {
  const ReplayRange& range = flow_.range();
  RecordMark mark;
  mark.header = "walpost-replay";
  mark.value = fmt::format("{}-{}", range.from.ToString(), range.to.ToString());
  mark.topic_prefix = options_.topic_prefix;
  builder_->SetMark(std::move(mark));
  RangeBackfill::Options options;
  options.from = range.from;
  options.since = range.since;
  options.timeline = range.timeline;
  options.per_second = options_.per_second;
  options.clock = [] { return Clock::now(); };
  options.sink_trouble = [this] { return run_->SinkTrouble(Clock::now()); };
  if (options_.dry_run) {
    backfill_.BeginDryRun(std::move(options), *std::move(on_record_),
                          std::move(builder_));
  } else {
    DeliveryRun::Options delivery;
    delivery.window = config_.window;
    delivery.sink.client_id_suffix = "-replay";
    delivery.silence_limit = DeliveryRun::kSilenceLimit;
    delivery.on_error = config_.on_error;
    run_ = std::make_unique<DeliveryRun>(executor_, std::move(builder_), sinks_,
                                         std::move(delivery),
                                         [this] { source_->OnProgress(); });
    backfill_.Begin(std::move(options), *std::move(on_record_), run_->sender());
  }
  asio::co_spawn(executor_, Watch(), asio::detached);
  asio::co_spawn(executor_, WatchServer(), asio::detached);
}

asio::awaitable<void> Replay::Watch() {
  while (!ended_) {
    if (run_ != nullptr) {
      run_->Tick(Clock::now());
      source_->OnProgress();
    }
    if (options_.progress) {
      const ReplayRange& range = flow_.range();
      options_.progress(backfill_.counts().events,
                        BytesBetween(range.from, flow_.resume()),
                        BytesBetween(range.from, range.to));
    }
    watch_timer_.expires_after(kWatchInterval);
    co_await watch_timer_.async_wait(kAsTuple);
  }
}

// A replay must not delay the shutdown of a server.
asio::awaitable<void> Replay::WatchServer() {
  const absl::Status trouble = co_await shutdown_monitor_.Run();
  if (trouble.ok() || ended_) co_return;
  flow_.OnServerTrouble(trouble);
  Stop();
}

void Replay::Stop() {
  flow_.Stop(Clock::now() + config_.shutdown_timeout);
  source_->Stop();
}

Replay::Result Replay::result() const {
  Result result;
  result.range = flow_.range();
  result.is_open = flow_.is_open();
  result.is_complete = flow_.is_complete();
  result.failed_at_kafka =
      records_failed_at_kafka_ ||
      (run_ != nullptr && !backfill_.DeliveryHealth().ok());
  result.resume = flow_.resume();
  result.counts = backfill_.counts();
  result.other_origin =
      other_origin_ + source_->skipped().events_of_other_origins;
  return result;
}

}  // namespace walpost
