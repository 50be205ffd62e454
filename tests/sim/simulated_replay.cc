#include "sim/simulated_replay.h"

#include <utility>

#include "sim/relations.h"

namespace walpost::sim {
namespace {

constexpr milliseconds kShutdownTimeout{3000};
// The closing of its producer, and until a deadline is noticed.
constexpr milliseconds kGrace{6000};
constexpr milliseconds kAskInterval{500};

// See ReplaySource.
WalStream::Options StreamOptions() {
  WalStream::Options options;
  options.slot = "copy";
  options.wal_sender_timeout = SimulatedWalsender::kTimeout;
  options.ask_interval = kAskInterval;
  return options;
}

std::unique_ptr<RecordBuilder> MakeBuilder() {
  return RecordBuilder::Create(SimulatedOutbox(false)).value();
}

AcknowledgementWindow::Options DrawWindow(Random& random) {
  AcknowledgementWindow::Options limits;
  limits.max_records = random.Between(1, 60);
  limits.max_bytes = random.Between(1'000, 40'000);
  return limits;
}

}  // namespace

SimulatedReplay::SimulatedReplay(World& world, const Place& place,
                                 ReplayChecker::Order order, int run)
    : world_(world),
      place_(place),
      order_(std::move(order)),
      run_(run),
      flow_(order_.request, backfill_),
      sender_(MakeBuilder(), DrawWindow(world.random)) {
  place_.checker.OnStart(run_, order_);
  sender_.SetErrorActions(order_.on_error.WithoutParking(),
                          [this](const DivertedEvent& event) {
                            if (event.action != ErrorAction::kSkip) return;
                            place_.checker.OnSkipped(run_, event.position);
                          });
}

bool SimulatedReplay::Turn() {
  if (IsLate()) place_.checker.OnLateEnd();
  const ReplayFlow::Do next = flow_.Next(world_.now);
  if (next != ReplayFlow::Do::kEnd) {
    CarryOut(next);
    return true;
  }
  End();
  return false;
}

void SimulatedReplay::CarryOut(ReplayFlow::Do next) {
  using Do = ReplayFlow::Do;
  absl::Status done;
  switch (next) {
    case Do::kOpen:
      return Open();
    case Do::kStream:
      return Stream();
    case Do::kWait:
      return;
    case Do::kReadOnRecord:
      done = ReadOnRecord();
      break;
    case Do::kBegin:
      Begin();
      break;
    case Do::kStartSink:
      if (!order_.is_dry_run) StartSink();
      break;
    case Do::kCloseSink:
      if (!CloseSink()) return;
      break;
    case Do::kEnd:
      break;
  }
  flow_.On(done);
}

// ---- The source.

void SimulatedReplay::Open() {
  if (world_.random.OneIn(20)) {
    return flow_.On(absl::UnavailableError("no connection"));
  }
  ReplayServer server;
  server.timeline = place_.server.timeline();
  server.oldest = place_.window.oldest();
  server.confirmed = place_.server.confirmed();
  server.since = order_.since;
  const ReplayRequest& request = flow_.request();
  const absl::StatusOr<ReplayRange> range = ChooseReplayRange(request, server);
  if (!range.ok()) {
    world_.Note(run_, "is rejected");
    place_.checker.OnRejected(run_, request.from, request.to, server.oldest,
                              server.confirmed);
    return flow_.On(range.status());
  }
  world_.Note(run_, "replays from {:X} to {:X}", range->from.value(),
              range->to.value());
  place_.checker.OnOpened(run_, *range, server.oldest, server.confirmed);
  reader_.reset();
  stream_.emplace(StreamOptions(), SimulatedOutbox(false),
                  ReferencesOf(sender_.builder().routes()), backfill_);
  reader_.emplace(world_, *stream_, run_, [] {});
  if (!range->is_empty()) {
    WalStream::Start start;
    start.slot = range->from;
    start.end = range->to;
    reader_->Begin(place_.window.Connect(
                       range->from, [&checker = place_.checker, run = run_](
                                        Lsn lsn) { checker.OnTold(run, lsn); }),
                   std::move(start));
  }
  flow_.OnOpened(*range);
}

void SimulatedReplay::Stream() {
  std::optional<absl::Status> end = absl::OkStatus();
  const bool is_empty = reader_->walsender() == nullptr;
  if (!is_empty && !stop_by_) end = reader_->Step();
  if (!end) return;
  reader_->Close();
  flow_.OnStreamed(*end, is_empty || stream_->reached_end());
}

absl::Status SimulatedReplay::ReadOnRecord() {
  if (world_.random.OneIn(30)) return absl::UnavailableError("no broker");
  SimulatedRecords records = place_.read_records();
  place_.checker.OnRecordRead(run_, std::move(records.ids));
  on_record_ = std::move(records.events);
  return absl::OkStatus();
}

void SimulatedReplay::Begin() {
  RangeBackfill::Options options;
  options.from = flow_.range().from;
  options.since = flow_.range().since;
  options.timeline = flow_.range().timeline;
  if (world_.random.OneIn(4)) {
    options.per_second = world_.random.Between(20, 500);
  }
  options.clock = [this] { return world_.now; };
  options.sink_trouble = [this] {
    return sender_.sink_failure() ? *sender_.sink_failure() : silence_;
  };
  if (order_.is_dry_run) {
    backfill_.BeginDryRun(std::move(options), *std::move(on_record_),
                          MakeBuilder());
  } else {
    backfill_.Begin(std::move(options), *std::move(on_record_), sender_);
  }
}

// ---- The producer.

void SimulatedReplay::StartSink() {
  producer_ = std::make_unique<SimulatedProducer>(
      world_, place_.brokers, place_.checker, run_,
      place_.brokers.NextProducer(), /*one_at_a_time=*/false);
  sender_.SetSink(producer_.get());
}

// True: every record has had its report.
bool SimulatedReplay::CloseSink() {
  if (!close_by_) close_by_ = world_.now + SinkRounds::kGrace;
  sender_.SetSink(nullptr);
  if (!producer_->IsIdle() && world_.now < *close_by_) return false;
  world_.Note(run_, "closes its producer");
  producer_->Purge(sender_);
  producer_.reset();
  close_by_.reset();
  return true;
}

void SimulatedReplay::Send() {
  if (producer_ != nullptr && !is_suspended()) producer_->Send();
}

void SimulatedReplay::Report() {
  if (producer_ == nullptr || is_suspended()) return;
  producer_->Report(sender_);
  if (stream_ && stream_->is_open()) stream_->OnProgress(world_.now);
}

void SimulatedReplay::Watch() {
  if (!is_suspended()) sender_.RetryHeld();
}

void SimulatedReplay::FailSink() {
  if (producer_ == nullptr) return;
  world_.Note(run_, "has a fatal error of its producer");
  producer_->Fail(sender_);
}

// ---- Its end.

void SimulatedReplay::Stop() {
  world_.Note(run_, "is told to stop");
  stop_by_ = world_.now + kShutdownTimeout;
  slept_ = {};
  flow_.Stop(*stop_by_);
  if (stream_) stream_->Abandon();
}

void SimulatedReplay::LeaveStream() {
  world_.Note(run_, "leaves the stream");
  flow_.OnServerTrouble(absl::UnavailableError("the server shuts down"));
  Stop();
}

void SimulatedReplay::Suspend() {
  if (!is_suspended()) suspended_at_ = world_.now;
}

void SimulatedReplay::Resume() {
  if (is_suspended()) slept_ += world_.now - *suspended_at_;
  suspended_at_.reset();
}

bool SimulatedReplay::IsLate() const {
  return stop_by_ && world_.now - slept_ > *stop_by_ + kGrace;
}

void SimulatedReplay::End() {
  reader_.reset();
  if (producer_ != nullptr) {
    sender_.SetSink(nullptr);
    producer_->Purge(sender_);
    producer_.reset();
  }
  ReplayChecker::Report report;
  report.status = flow_.status();
  report.is_complete = flow_.is_complete();
  report.resume = flow_.resume();
  report.counts = backfill_.counts();
  if (sender_.stoppage()) report.stopped_before = sender_.stoppage()->position;
  report.was_stopped = stop_by_.has_value();
  world_.Note(run_, report.is_complete ? "is complete" : "is not complete");
  place_.checker.OnEnd(run_, report);
}

}  // namespace walpost::sim
