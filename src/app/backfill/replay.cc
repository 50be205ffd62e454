#include "app/backfill/replay.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "app/backfill/read_events_on_record.h"
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
      source_(executor, config.postgres, config.outbox,
              ReferencesOf(builder_->routes()), *this),
      shutdown_monitor_(executor, config.postgres.server,
                        "walpost:replay:side"),
      sinks_(std::move(sinks)),
      rate_(options_.per_second),
      watch_timer_(executor) {}

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
  status = co_await ReadOnRecord();
  if (status.ok() && !options_.dry_run) status = StartRun();
  if (!status.ok()) co_return status;
  asio::co_spawn(executor_, Watch(), asio::detached);
  asio::co_spawn(executor_, WatchServer(), asio::detached);
  status = co_await source_.Stream();
  if (status.ok()) status = co_await WaitForAcknowledgements();
  ended_ = true;
  watch_timer_.cancel();
  shutdown_monitor_.Stop();
  const MonotonicTime now = Clock::now();
  if (run_ != nullptr) co_await run_->Close(now);
  if (status.ok() && !source_.reached_end()) status = server_trouble_;
  co_return status;
}

asio::awaitable<absl::Status> Replay::ReadOnRecord() {
  OnRecordQuery query;
  query.verb = "replay";
  query.system_identifier = source_.system_identifier();
  query.if_unknown = ParkedList::IfUnknown::kEmpty;
  absl::StatusOr<EventsOnRecord> on_record = co_await ReadEventsOnRecord(
      executor_, config_, query, &records_failed_at_kafka_);
  if (!on_record.ok()) co_return on_record.status();
  on_record_ = *std::move(on_record);
  co_return absl::OkStatus();
}

absl::Status Replay::StartRun() {
  DeliveryRun::Options options;
  options.window = config_.window;
  options.sink.client_id_suffix = "-replay";
  options.silence_limit = DeliveryRun::kSilenceLimit;
  options.on_error = config_.on_error;
  run_ = std::make_unique<DeliveryRun>(executor_, std::move(builder_), sinks_,
                                       std::move(options),
                                       [this] { source_.OnProgress(); });
  run_->sender().SetTimeline(source_.range().timeline);
  progress_.emplace(run_->sender()).Resume(source_.range().from, {});
  return run_->Start();
}

asio::awaitable<absl::Status> Replay::WaitForAcknowledgements() {
  if (run_ == nullptr) co_return absl::OkStatus();
  const auto may_wait = [this]() -> absl::StatusOr<bool> {
    WALPOST_RETURN_IF_ERROR(Health());
    return !stop_deadline_ || Clock::now() <= *stop_deadline_;
  };
  co_return co_await run_->WaitForAcknowledgements(may_wait);
}

asio::awaitable<void> Replay::Watch() {
  while (!ended_) {
    if (run_ != nullptr) {
      run_->Tick(Clock::now());
      source_.OnProgress();
    }
    if (options_.progress) {
      const ReplayRange& range = source_.range();
      options_.progress(result().events,
                        BytesBetween(range.from, confirmable()),
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
  source_.Stop();
}

bool Replay::IsTooOld(const Event& event) const {
  const std::optional<WallTime>& since = source_.range().since;
  return since && event.commit_time < *since;
}

// What somebody has decided about an event stays decided.
bool Replay::LeavesOut(const Event& event) {
  const std::optional<Disposition> fate = on_record_->FindInWal(event);
  if (fate) left_out_.Add(*fate);
  return fate.has_value();
}

EventConsumer::Offer Replay::OnEvent(const Event& event,
                                     const absl::Status& mapped) {
  if (IsTooOld(event)) {
    skipped_ += mapped.ok();
    return Offer::kAccepted;
  }
  if (options_.dry_run) {
    return LeavesOut(event) ? Offer::kAccepted : Count(event, mapped);
  }
  const MonotonicTime now = Clock::now();
  if (mapped.ok() && !rate_.MayTake(now)) return Offer::kBackpressure;
  if (LeavesOut(event)) return Offer::kAccepted;
  const Offer offer = progress_->OnEvent(event, mapped);
  if (mapped.ok() && offer == Offer::kAccepted) rate_.Take(now);
  return offer;
}

EventConsumer::Offer Replay::Count(const Event& event,
                                   const absl::Status& mapped) {
  const absl::StatusOr<Record> record =
      mapped.ok() ? builder_->Build(event, source_.range().timeline)
                  : absl::StatusOr<Record>(mapped);
  undeliverable_ += !record.ok();
  counted_ += record.ok();
  counted_bytes_ += record.ok() && record->value ? record->value->size() : 0;
  return Offer::kAccepted;
}

bool Replay::CanTake() const {
  // Without the rate: the end of a transaction need not wait for it.
  return options_.dry_run || progress_->CanTake();
}

// Without a rate limit, the producer makes room and reports it.
MonotonicTime Replay::retry_at() const {
  return rate_.MayTake(Clock::now()) ? MonotonicTime::max() : rate_.next();
}

void Replay::OnTransactionEnd(Lsn end_lsn) {
  if (options_.dry_run) {
    counted_through_ = end_lsn;
  } else {
    progress_->OnTransactionEnd(end_lsn);
  }
}

// The server begins before the range.
void Replay::OnKeepalive(Lsn wal_end) {
  if (wal_end > confirmable()) OnTransactionEnd(wal_end);
}

Lsn Replay::confirmable() const {
  return progress_ ? progress_->confirmed() : counted_through_;
}

bool Replay::IsDrained() const {
  return run_ == nullptr || run_->sender().IsDrained();
}

absl::Status Replay::Health() const {
  if (run_ == nullptr) return absl::OkStatus();
  const std::optional<BlockedEvent>& stoppage = run_->sender().stoppage();
  if (!stoppage) return run_->SinkTrouble(Clock::now());
  return absl::FailedPreconditionError(
      fmt::format("event {} of the commit at {} cannot be delivered: {}",
                  stoppage->event_id, stoppage->position.commit_lsn.ToString(),
                  std::string(stoppage->reason.message())));
}

Replay::Result Replay::result() const {
  Result result;
  result.range = source_.range();
  result.is_open = opened_;
  result.resume = confirmable();
  result.skipped = skipped_;
  result.left_out = left_out_;
  result.other_origin = source_.skipped().events_of_other_origins;
  result.events = counted_;
  result.value_bytes = counted_bytes_;
  result.undeliverable = undeliverable_;
  result.is_complete = source_.reached_end();
  result.failed_at_kafka = records_failed_at_kafka_;
  if (run_ != nullptr) {
    const Sender& sender = run_->sender();
    // Dead letters are acknowledged, too.
    result.events = sender.counters().acknowledged -
                    DeliveryCounters::Sum(sender.counters().dead_letters);
    result.undeliverable = sender.counters().set_aside();
    result.value_bytes = sender.counters().value_bytes;
    result.is_complete &= sender.IsDrained();
    result.failed_at_kafka |= !Health().ok();
  }
  return result;
}

}  // namespace walpost
