#include "sim/simulated_source.h"

#include <algorithm>

#include "base/check.h"
#include "base/status_macros.h"
#include "checkpoint/coverage.h"

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
      memory_(kSlotName, pipeline),
      feedback_(kStatusInterval, SimulatedWalsender::kTimeout),
      suspension_watch_(SimulatedWalsender::kTimeout) {}

// ---- Like SourceSetup.

absl::Status SimulatedSource::Open() {
  drain_deadline_.reset();
  is_abandoned_ = false;
  found_gap_.reset();
  WALPOST_RETURN_IF_ERROR(Continue());
  if (!server_.postgres().catalog().covers()) {
    return absl::FailedPreconditionError("the publication has no outbox");
  }
  WALPOST_RETURN_IF_ERROR(Begin());
  connection_ = server_.Connect(slot_);
  BeginStream();
  return absl::OkStatus();
}

absl::Status SimulatedSource::Continue() {
  const SimulatedPostgres& postgres = server_.postgres();
  ObservedSource observed;
  observed.system_identifier = kSystemIdentifier;
  observed.timeline = postgres.timeline();
  observed.wal_end = postgres.flushed();
  observed.slot = {.confirmed = postgres.confirmed(), .failover = true};
  observed.coverage = postgres.catalog().coverage();
  memory_.Observe(std::move(observed), postgres.catalog().record());
  if (const uint32_t left = memory_.left_timeline()) {
    memory_.SetFork(postgres.fork(left));
  }
  if (server_.active() != nullptr) {
    WALPOST_RETURN_IF_ERROR(memory_.OnSlotInUse(true));
    return absl::UnavailableError(kSlotInUse);
  }
  const bool was_held = memory_.gap().has_value();
  const absl::Status status = memory_.Continue();
  if (!was_held && memory_.gap()) NoteGap();
  const std::optional<BirthRecord> record = memory_.RecordOfGap();
  if (memory_.gap() && record) server_.postgres().SetRecord(*record);
  return status;
}

absl::Status SimulatedSource::Begin() {
  SimulatedPostgres& postgres = server_.postgres();
  slot_ = postgres.confirmed();
  WALPOST_RETURN_IF_ERROR(memory_.Begin(slot_));
  if (const auto update = memory_.UpdatedRecord("")) {
    postgres.SetRecord(update->record);
  }
  if (!memory_.is_first_start()) return absl::OkStatus();
  BirthRecord record;
  record.slot = kSlotName;
  record.consistent_point = slot_;
  record.system_identifier = kSystemIdentifier;
  record.timeline = postgres.timeline();
  record.streamed_from = postgres.next_xid();
  record.coverage = postgres.catalog().coverage();
  memory_.OnBirth(record);
  postgres.SetRecord(record);
  return absl::OkStatus();
}

void SimulatedSource::NoteGap() {
  const std::string& code = memory_.gap()->code;
  checker_.OnGap(relay_, code);
  if (code == kGapServerBehind) {
    world_.Note(relay_, "sees that the server is behind");
  } else if (code == kGapWalForked) {
    world_.Note(relay_, "sees that the WAL has forked");
  } else if (code == kGapCoverageChanged) {
    world_.Note(relay_, "sees that rows were not sent");
  } else {
    world_.Note(relay_, "sees that the slot was moved");
  }
}

void SimulatedSource::Latch(const Gap& gap) {
  if (memory_.gap()) return;
  memory_.Latch(gap);
  NoteGap();
}

void SimulatedSource::WatchPublication() {
  if (!is_open() || found_gap_) return;
  const std::string change =
      DescribeChange(Coverage::Parse(memory_.coverage()),
                     Coverage::Parse(server_.postgres().catalog().coverage()));
  if (change.empty()) return;
  found_gap_ = Gap{kGapCoverageChanged, change};
  Abandon();
}

void SimulatedSource::BeginStream() {
  world_.Note(relay_, "streams, confirmed {:X}, the slot stands at {:X}",
              pipeline_.confirmed().value(), slot_.value());
  memory_.OnStreaming();
  lsn_history_ = server_.postgres().history();
  feed_.emplace(options_);
  feedback_ =
      FeedbackSchedule(kStatusInterval, SimulatedWalsender::kTimeout, slot_);
  is_held_ = false;
  next_ = Next::kCheck;
  suspension_watch_.Start(ToBootTime(world_.now));
  checker_.OnStreamStart(relay_);
  checker_.OnBoundary(relay_, slot_);
}

// ---- Like WalSource.

std::optional<absl::Status> SimulatedSource::Step() {
  absl::Status status;
  switch (next_) {
    case Next::kCheck:
      if (is_abandoned_) {
        Close();
        return found_gap_ ? StatusOfGap(*found_gap_) : absl::OkStatus();
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
    if (pipeline_.divergence()) return *pipeline_.divergence();
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
