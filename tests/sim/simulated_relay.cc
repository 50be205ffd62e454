#include "sim/simulated_relay.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace walpost::sim {
namespace {

constexpr milliseconds kStatusInterval{200};
constexpr milliseconds kShutdownTimeout{3000};
constexpr milliseconds kProducerGrace{2000};
constexpr milliseconds kServerShutdownGrace{2000};
constexpr milliseconds kStandbyInterval{500};
constexpr uint64_t kFramesPerTurn = 6;
// Until a deadline is seen.
constexpr milliseconds kSlack{1000};

OutboxOptions Outbox() {
  OutboxOptions options;
  options.tables.resize(1);
  options.messages.prefix = "outbox";
  return options;
}

FeedbackSchedule NewSchedule(Lsn slot) {
  return FeedbackSchedule(kStatusInterval, SimulatedWalsender::kTimeout, slot);
}

// What the slot of another instance looks like to us.
absl::Status SlotInUse() { return absl::UnavailableError("55006"); }
bool IsSlotInUse(const absl::Status& status) {
  return status.message() == "55006";
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
      options_(Outbox()),
      feedback_(NewSchedule(Lsn())),
      suspension_watch_(SimulatedWalsender::kTimeout) {}

// ---- What the operator does.

void SimulatedRelay::Start() {
  world_.Note(id_, "starts");
  AcknowledgementWindow::Options limits;
  limits.max_records = world_.random.Between(1, 60);
  limits.max_bytes = world_.random.Between(1'000, 40'000);
  pipeline_ = std::make_unique<Pipeline>(
      RecordBuilder::Create(options_).value(), limits);
  timeline_ = 0;
  has_streamed_ = is_promoted_ = is_stuck_ = false;
  shutdown_deadline_.reset();
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
  if (connection_ != nullptr) connection_->Close();
  connection_.reset();
  producer_.reset();
  pipeline_.reset();
  phase_ = Phase::kDown;
}

void SimulatedRelay::Shutdown() {
  if (!is_up() || is_suspended_ || shutdown_deadline_) return;
  world_.Note(id_, "shuts down");
  shutdown_deadline_ = world_.now + kShutdownTimeout;
  slept_ = {};
  if (connection_ != nullptr) drain_deadline_ = shutdown_deadline_;
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
    case Phase::kChecking:
      return BeginTurn();
    case Phase::kTaking:
      return TakeFrames();
    case Phase::kTelling:
      return EndTurn();
    case Phase::kClosing:
      return ContinueClose();
  }
}

void SimulatedRelay::Watch() {
  if (!is_up() || is_suspended_) return;
  pipeline_->RetryHeld();
  if (pipeline_->sink_failure()) is_abandoned_ = true;
}

void SimulatedRelay::Send() {
  if (!is_suspended_ && producer_ != nullptr) producer_->Send();
}

void SimulatedRelay::Report() {
  if (is_suspended_ || producer_ == nullptr) return;
  producer_->Report(*this);
  if (pipeline_->sink_failure()) is_abandoned_ = true;
}

// ---- What breaks.

void SimulatedRelay::FailProducer() {
  if (is_suspended_ || producer_ == nullptr) return;
  world_.Note(id_, "has a fatal error of its producer");
  producer_->Fail(*this);
}

void SimulatedRelay::LeaveStream() {
  if (is_suspended_ || connection_ == nullptr || drain_deadline_) return;
  world_.Note(id_, "leaves the stream");
  drain_deadline_ = world_.now + kServerShutdownGrace;
}

// ---- SourceSetup: before the first frame.

void SimulatedRelay::Open() {
  const uint32_t timeline = server_.postgres().timeline();
  if (has_streamed_ && timeline > timeline_) {
    if (!FollowPromotion()) {
      is_stuck_ = true;
      return WaitBeforeNextSession(absl::FailedPreconditionError("advanced"));
    }
    timeline_ = timeline;
    pipeline_->SetTimeline(timeline);
    is_promoted_ = true;
    return EndSession(absl::AbortedError("promoted"));
  }
  timeline_ = timeline;
  pipeline_->SetTimeline(timeline);
  connection_ = server_.Connect(pipeline_->confirmed());
  if (connection_ == nullptr) return EndSession(SlotInUse());
  world_.Note(id_, "streams, confirmed {:X}, the slot stands at {:X}",
              pipeline_->confirmed().value(),
              server_.postgres().confirmed().value());
  has_streamed_ = true;
  lsn_timeline_ = timeline;
  drain_deadline_ = shutdown_deadline_;
  is_abandoned_ = is_held_ = is_stuck_ = false;
  feed_.emplace(options_);
  feedback_ = NewSchedule(server_.postgres().confirmed());
  suspension_watch_.Start(world_.now);
  checker_.OnStreamStart(id_);
  checker_.OnBoundary(id_, server_.postgres().confirmed());
  pipeline_->OnKeepalive(server_.postgres().confirmed());
  phase_ = Phase::kChecking;
}

bool SimulatedRelay::FollowPromotion() {
  return server_.postgres().confirmed() <= pipeline_->confirmed();
}

// ---- WalSource: a turn in three steps.

void SimulatedRelay::BeginTurn() {
  if (is_abandoned_) return EndSession(absl::OkStatus());
  if (suspension_watch_.OnTurn(world_.now)) {
    world_.Note(id_, "sees that it was suspended");
    return EndSession(absl::AbortedError("suspended"));
  }
  const bool slot_is_anothers =
      server_.active() != nullptr && server_.active() != connection_.get();
  checker_.OnTurn(id_, slot_is_anothers);
  phase_ = Phase::kTaking;
}

void SimulatedRelay::TakeFrames() {
  for (uint64_t left = world_.random.Between(1, kFramesPerTurn); left > 0;
       --left) {
    if (is_held_) Deliver();
    if (drain_deadline_ || is_held_ || !pipeline_->CanTake()) break;
    const std::optional<SimulatedWalsender::Frame> frame = connection_->Read();
    if (frame) {
      Handle(*frame);
    } else if (connection_->IsAtEnd() ||
               (connection_->is_cut() && world_.random.OneIn(100))) {
      return EndSession(absl::UnavailableError("the connection is lost"));
    } else {
      break;
    }
  }
  phase_ = Phase::kTelling;
  Observe();
}

void SimulatedRelay::Handle(const SimulatedWalsender::Frame& frame) {
  if (const auto* message = std::get_if<std::string>(&frame)) {
    WALPOST_CHECK(feed_->Feed(*message).ok());
    return Deliver();
  }
  const auto& keepalive = std::get<SimulatedWalsender::Keepalive>(frame);
  if (!feed_->assembler().in_transaction()) {
    checker_.OnBoundary(id_, keepalive.wal_end);
    pipeline_->OnKeepalive(keepalive.wal_end);
  }
  if (keepalive.reply_requested) feedback_.OnReplyRequested();
}

void SimulatedRelay::Deliver() {
  const Step& step = feed_->step();
  is_held_ = false;
  switch (step.kind) {
    case Step::Kind::kNothing:
      return;
    case Step::Kind::kEvent:
      is_held_ = pipeline_->OnEvent(step.event) == Pipeline::Offer::kHold;
      return;
    case Step::Kind::kUndeliverable:
      is_held_ = pipeline_->OnUndeliverable(step.event, step.error) ==
                 Pipeline::Offer::kHold;
      return;
    case Step::Kind::kTransactionEnd:
      checker_.OnBoundary(id_, step.end_lsn);
      return pipeline_->OnTransactionEnd(step.end_lsn);
  }
}

void SimulatedRelay::EndTurn() {
  phase_ = Phase::kChecking;
  const Lsn confirmed = pipeline_->confirmed();
  if (drain_deadline_ &&
      (pipeline_->window().empty() || world_.now >= *drain_deadline_)) {
    connection_->SendStatus(feedback_.ToTell(confirmed));
    return EndSession(absl::OkStatus());
  }
  if (!feedback_.IsDue(confirmed, world_.now)) return;
  feedback_.OnSent(confirmed, world_.now);
  connection_->SendStatus(feedback_.ToTell(confirmed));
}

// ---- Relay: what follows a session.

void SimulatedRelay::EndSession(const absl::Status& reason) {
  if (connection_ != nullptr) connection_->Close();
  connection_.reset();
  is_held_ = false;
  const MonotonicTime now = world_.now;
  if (shutdown_deadline_) {
    return BeginClose(reason,
                      std::min(now + kProducerGrace, *shutdown_deadline_));
  }
  if (pipeline_->sink_failure())
    return BeginClose(reason, now + kProducerGrace);
  if (absl::IsAborted(reason)) return BeginClose(reason, now);
  WaitBeforeNextSession(reason);
}

void SimulatedRelay::BeginClose(const absl::Status& reason,
                                MonotonicTime deadline) {
  close_reason_ = reason;
  close_deadline_ = deadline;
  phase_ = Phase::kClosing;
  if (deadline <= world_.now) ContinueClose();
}

void SimulatedRelay::ContinueClose() {
  if (producer_ != nullptr && !producer_->IsIdle()) {
    if (world_.now < close_deadline_) return;
    world_.Note(id_, "purges its producer");
    producer_->Purge(*this);
  }
  pipeline_->SetSink(nullptr);
  producer_.reset();
  if (shutdown_deadline_) {
    const bool is_late =
        world_.now - slept_ > *shutdown_deadline_ + kProducerGrace + kSlack;
    world_.Note(id_, "ends");
    checker_.OnCleanEnd(id_, is_late);
    return End();
  }
  if (std::exchange(is_promoted_, false)) {
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
  retry_at_ += IsSlotInUse(reason)
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
  checker_.OnConfirmed(id_, pipeline_->confirmed(), lsn_timeline_);
}

bool SimulatedRelay::HasStopped() const {
  return is_up() && pipeline_->stoppage() && producer_ != nullptr &&
         producer_->IsIdle();
}

}  // namespace walpost::sim
