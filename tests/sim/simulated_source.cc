#include "sim/simulated_source.h"

#include <algorithm>

#include "base/check.h"
#include "base/status_macros.h"

namespace walpost::sim {
namespace {

constexpr milliseconds kStatusInterval{200};
constexpr uint64_t kFramesPerTurn = 6;

// The simulated machine is never suspended as a whole.
BootTime ToBootTime(MonotonicTime time) {
  return BootTime(time.time_since_epoch());
}

}  // namespace

SimulatedSource::SimulatedSource(World& world, SimulatedServer& server,
                                 Checker& checker, int relay,
                                 const OutboxOptions& options,
                                 Pipeline& pipeline)
    : world_(world),
      server_(server),
      checker_(checker),
      relay_(relay),
      options_(options),
      pipeline_(pipeline),
      feedback_(kStatusInterval, SimulatedWalsender::kTimeout),
      suspension_watch_(SimulatedWalsender::kTimeout) {}

// ---- As SourceSetup does it.

absl::Status SimulatedSource::Open() {
  drain_deadline_.reset();
  is_abandoned_ = false;
  WALPOST_RETURN_IF_ERROR(gap_);
  WALPOST_RETURN_IF_ERROR(IdentifySystem());
  slot_ = server_.postgres().confirmed();
  if (pipeline_.LacksEvidenceFrom(slot_)) {
    is_promoted_ = true;  // likewise
    return absl::AbortedError("the slot went back");
  }
  connection_ = server_.Connect(slot_);
  if (connection_ == nullptr) return absl::UnavailableError(kSlotInUse);
  BeginStream();
  return absl::OkStatus();
}

absl::Status SimulatedSource::IdentifySystem() {
  const SimulatedPostgres& postgres = server_.postgres();
  const uint32_t timeline = postgres.timeline();
  if (has_streamed_ && timeline > timeline_) {
    if (postgres.confirmed() > pipeline_.confirmed()) {
      return absl::FailedPreconditionError("somebody else advanced the slot");
    }
    is_promoted_ = true;
  }
  if (has_streamed_ && timeline == timeline_ &&
      postgres.flushed() < pipeline_.confirmed()) {
    world_.Note(relay_, "sees that the server is behind");
    return gap_ = absl::FailedPreconditionError("the server is behind");
  }
  timeline_ = timeline;
  pipeline_.SetTimeline(timeline);
  return is_promoted_ ? absl::AbortedError("promoted") : absl::OkStatus();
}

void SimulatedSource::BeginStream() {
  world_.Note(relay_, "streams, confirmed {:X}, the slot stands at {:X}",
              pipeline_.confirmed().value(), slot_.value());
  has_streamed_ = true;
  lsn_history_ = server_.postgres().history();
  feed_.emplace(options_);
  feedback_ =
      FeedbackSchedule(kStatusInterval, SimulatedWalsender::kTimeout, slot_);
  is_held_ = false;
  next_ = Next::kCheck;
  suspension_watch_.Start(ToBootTime(world_.now));
  checker_.OnStreamStart(relay_);
  pipeline_.BeginStream(slot_);
  checker_.OnBoundary(relay_, slot_);
}

// ---- As WalSource does it.

std::optional<absl::Status> SimulatedSource::Step() {
  absl::Status status;
  switch (next_) {
    case Next::kCheck:
      if (is_abandoned_) {
        Close();
        return absl::OkStatus();
      }
      status = Check();
      next_ = Next::kTake;
      break;
    case Next::kTake:
      status = TakeFrames();
      next_ = Next::kTell;
      break;
    case Next::kTell:
      next_ = Next::kCheck;
      if (Tell()) {
        Close();
        return absl::OkStatus();
      }
      break;
  }
  checker_.OnConfirmed(relay_, pipeline_.confirmed(), lsn_history());
  if (status.ok()) return std::nullopt;
  Close();
  return status;
}

absl::Status SimulatedSource::Check() {
  if (suspension_watch_.OnTurn(ToBootTime(world_.now))) {
    world_.Note(relay_, "sees that it was suspended");
    return absl::AbortedError("suspended");
  }
  const SimulatedWalsender* active = server_.active();
  checker_.OnTurn(relay_, active != nullptr && active != connection_.get());
  return absl::OkStatus();
}

absl::Status SimulatedSource::TakeFrames() {
  for (uint64_t left = world_.random.Between(1, kFramesPerTurn); left > 0;
       --left) {
    if (is_held_) Deliver();
    if (pipeline_.divergence()) {
      world_.Note(relay_, "sees that the WAL has forked");
      return gap_ = *pipeline_.divergence();
    }
    if (drain_deadline_ || is_held_ || !pipeline_.CanTake()) break;
    const std::optional<SimulatedWalsender::Frame> frame = connection_->Read();
    if (frame) {
      Handle(*frame);
    } else if (connection_->IsAtEnd() ||
               (connection_->is_cut() && world_.random.OneIn(100))) {
      return absl::UnavailableError("the connection is lost");
    } else {
      break;
    }
  }
  return absl::OkStatus();
}

void SimulatedSource::Handle(const SimulatedWalsender::Frame& frame) {
  if (const auto* message = std::get_if<std::string>(&frame)) {
    WALPOST_CHECK(feed_->Feed(*message).ok());
    return Deliver();
  }
  const auto& keepalive = std::get<SimulatedWalsender::Keepalive>(frame);
  if (!feed_->assembler().in_transaction()) {
    checker_.OnBoundary(relay_, keepalive.wal_end);
    pipeline_.OnKeepalive(keepalive.wal_end);
  }
  if (keepalive.reply_requested) feedback_.OnReplyRequested();
}

void SimulatedSource::Deliver() {
  const walpost::Step& step = feed_->step();
  is_held_ = false;
  switch (step.kind) {
    case walpost::Step::Kind::kNothing:
      return;
    case walpost::Step::Kind::kEvent:
      is_held_ = pipeline_.OnEvent(step.event) == Pipeline::Offer::kHold;
      return;
    case walpost::Step::Kind::kUndeliverable:
      is_held_ = pipeline_.OnUndeliverable(step.event, step.error) ==
                 Pipeline::Offer::kHold;
      return;
    case walpost::Step::Kind::kTransactionEnd:
      checker_.OnBoundary(relay_, step.end_lsn);
      return pipeline_.OnTransactionEnd(step.end_lsn);
  }
}

Lsn SimulatedSource::Confirmable() const {
  return pipeline_.is_history_settled() ? pipeline_.confirmed() : slot_;
}

bool SimulatedSource::Tell() {
  const Lsn confirmed = Confirmable();
  const bool is_over = drain_deadline_ && (pipeline_.window().empty() ||
                                           world_.now >= *drain_deadline_);
  if (!is_over && !feedback_.IsDue(confirmed, world_.now)) return false;
  feedback_.OnSent(confirmed, world_.now);
  connection_->SendStatus(feedback_.ToTell(confirmed));
  return is_over;
}

void SimulatedSource::Drain(MonotonicTime deadline) {
  drain_deadline_ = std::min(deadline, drain_deadline_.value_or(deadline));
}

void SimulatedSource::Close() {
  if (connection_ != nullptr) connection_->Close();
  connection_.reset();
  is_held_ = false;
}

}  // namespace walpost::sim
