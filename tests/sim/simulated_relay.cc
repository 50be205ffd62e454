#include "sim/simulated_relay.h"

#include <algorithm>

namespace walpost::sim {
namespace {

constexpr milliseconds kShutdownTimeout{3000};
constexpr milliseconds kProducerGrace{2000};
constexpr milliseconds kServerShutdownGrace{2000};
constexpr milliseconds kStandbyInterval{500};
// Until a deadline is noticed.
constexpr milliseconds kSlack{1000};

OutboxOptions Outbox() {
  OutboxOptions options;
  options.tables.resize(1);
  options.messages.prefix = "outbox";
  return options;
}

}  // namespace

SimulatedRelay::SimulatedRelay(World& world, SimulatedServer& server,
                               SimulatedBrokers& brokers, Checker& checker,
                               int id)
    : world_(world),
      server_(server),
      brokers_(brokers),
      checker_(checker),
      id_(id),
      options_(Outbox()) {}

// ---- Actions of the operator.

void SimulatedRelay::Start() {
  world_.Note(id_, "starts");
  AcknowledgementWindow::Options limits;
  limits.max_records = world_.random.Between(1, 60);
  limits.max_bytes = world_.random.Between(1'000, 40'000);
  pipeline_ = std::make_unique<Pipeline>(
      RecordBuilder::Create(options_).value(), limits);
  source_ = std::make_unique<SimulatedSource>(world_, server_, checker_, id_,
                                              options_, *pipeline_);
  is_stuck_ = false;
  shutdown_deadline_.reset();
  checker_.OnProcessStart(id_);
  checker_.OnFreshStart(id_);
  StartProducer();
  phase_ = Phase::kWaiting;
  retry_at_ = world_.now;
}

void SimulatedRelay::Kill() {
  if (!is_up()) return;
  world_.Note(id_, "is killed");
  is_suspended_ = false;
  End();
}

void SimulatedRelay::End() {
  source_.reset();
  producer_.reset();
  pipeline_.reset();
  phase_ = Phase::kDown;
}

void SimulatedRelay::Shutdown() {
  if (!is_up() || is_suspended_ || shutdown_deadline_) return;
  world_.Note(id_, "shuts down");
  shutdown_deadline_ = world_.now + kShutdownTimeout;
  slept_ = {};
  source_->Drain(*shutdown_deadline_);
  if (phase_ == Phase::kWaiting) EndSession(absl::OkStatus());
}

void SimulatedRelay::Suspend() {
  if (!is_up() || is_suspended_) return;
  world_.Note(id_, "is suspended");
  is_suspended_ = true;
  suspended_at_ = world_.now;
}

void SimulatedRelay::Resume() {
  if (!is_suspended_) return;
  world_.Note(id_, "is resumed");
  is_suspended_ = false;
  slept_ += world_.now - suspended_at_;
}

// ---- One step of each part.

void SimulatedRelay::Turn() {
  if (is_suspended_) return;
  switch (phase_) {
    case Phase::kDown:
      return;
    case Phase::kWaiting:
      if (world_.now >= retry_at_) Open();
      return;
    case Phase::kStreaming:
      if (const auto ended = source_->Step()) EndSession(*ended);
      return;
    case Phase::kClosing:
      return ContinueClose();
  }
}

void SimulatedRelay::Watch() {
  if (!is_up() || is_suspended_) return;
  pipeline_->RetryHeld();
  if (world_.random.OneIn(8)) source_->WatchPublication();
  if (pipeline_->sink_failure()) source_->Abandon();
}

void SimulatedRelay::Send() {
  if (ReachesBrokers()) producer_->Send();
}

void SimulatedRelay::Report() {
  if (!ReachesBrokers()) return;
  producer_->Report(*this);
  if (pipeline_->sink_failure()) source_->Abandon();
}

// ---- Failures.

void SimulatedRelay::FailProducer() {
  if (is_suspended_ || producer_ == nullptr) return;
  world_.Note(id_, "has a fatal error of its producer");
  producer_->Fail(*this);
}

void SimulatedRelay::LoseBrokers(milliseconds duration) {
  world_.Note(id_, "does not reach the brokers for {} ms",
              static_cast<uint64_t>(duration.count()));
  brokers_back_at_ = world_.now + duration;
}

void SimulatedRelay::LeaveStream() {
  if (is_suspended_ || phase_ != Phase::kStreaming) return;
  world_.Note(id_, "leaves the stream");
  source_->Drain(world_.now + kServerShutdownGrace);
}

// ---- Sessions.

void SimulatedRelay::Open() {
  const absl::Status status = source_->Open();
  if (!status.ok()) return EndSession(status);
  phase_ = Phase::kStreaming;
}

void SimulatedRelay::EndSession(const absl::Status& reason) {
  const MonotonicTime now = world_.now;
  is_stuck_ = absl::IsFailedPrecondition(reason);
  if (const auto gap = GapOf(reason)) source_->Latch(*gap);
  if (shutdown_deadline_) {
    BeginClose(reason, std::min(now + kProducerGrace, *shutdown_deadline_));
  } else if (pipeline_->sink_failure()) {
    BeginClose(reason, now + kProducerGrace);
  } else if (absl::IsAborted(reason)) {
    BeginClose(reason, now);
  } else {
    WaitBeforeNextSession(reason);
  }
}

void SimulatedRelay::BeginClose(const absl::Status& reason,
                                MonotonicTime deadline) {
  close_reason_ = reason;
  close_deadline_ = deadline;
  phase_ = Phase::kClosing;
  if (deadline <= world_.now) ContinueClose();
}

void SimulatedRelay::ContinueClose() {
  if (!producer_->IsIdle()) {
    if (world_.now < close_deadline_) return;
    world_.Note(id_, "purges its producer");
    producer_->Purge(*this);
  }
  pipeline_->SetSink(nullptr);
  producer_.reset();
  if (!shutdown_deadline_) return ReplaceProducer();
  const bool is_late =
      world_.now - slept_ > *shutdown_deadline_ + kProducerGrace + kSlack;
  world_.Note(id_, "ends");
  checker_.OnCleanEnd(id_, is_late);
  End();
}

void SimulatedRelay::ReplaceProducer() {
  if (source_->TakeStartOver()) {
    world_.Note(id_, "starts over");
    pipeline_->StartOver();
    checker_.OnFreshStart(id_);
  } else {
    world_.Note(id_, "rewinds");
    pipeline_->Rewind();
  }
  Observe();
  StartProducer();
  WaitBeforeNextSession(close_reason_);
}

void SimulatedRelay::StartProducer() {
  const uint64_t number = 2 * producers_++ + static_cast<uint64_t>(id_);
  producer_ = std::make_unique<SimulatedProducer>(world_, brokers_, checker_,
                                                  id_, number);
  pipeline_->SetSink(producer_.get());
}

void SimulatedRelay::WaitBeforeNextSession(const absl::Status& reason) {
  phase_ = Phase::kWaiting;
  retry_at_ = world_.now;
  if (reason.ok()) return;
  retry_at_ += reason.message() == kSlotInUse
                   ? kStandbyInterval
                   : milliseconds(world_.random.Between(50, 1000));
}

// ---- Reports.

void SimulatedRelay::OnAcknowledged(Sequence sequence, WallTime now) {
  pipeline_->OnAcknowledged(sequence, now);
  Observe();
}

void SimulatedRelay::OnNotDelivered(Sequence sequence,
                                    const absl::Status& error) {
  pipeline_->OnNotDelivered(sequence, error);
}

void SimulatedRelay::OnSinkFailed(const absl::Status& error) {
  pipeline_->OnSinkFailed(error);
}

void SimulatedRelay::Observe() {
  checker_.OnConfirmed(id_, pipeline_->confirmed(), source_->lsn_history());
}

bool SimulatedRelay::HasStopped() const {
  return is_up() && pipeline_->stoppage() && producer_ != nullptr &&
         producer_->IsIdle();
}

}  // namespace walpost::sim
