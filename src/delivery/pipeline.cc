#include "delivery/pipeline.h"

#include <algorithm>
#include <utility>

namespace walpost {

Pipeline::Pipeline(std::unique_ptr<RecordBuilder> builder,
                   AcknowledgementWindow::Options window)
    : dispatch_(std::move(builder), Ordering::kByPosition, counters_),
      window_options_(window),
      window_(window) {}

void Pipeline::Rewind() {
  stood_at_ = standing_at();
  resume_filter_.Add(window_.Clear());
  sink_failure_.reset();
  held_.reset();
  one_at_a_time_ = false;
  trial_.reset();
  uncommitted_records_ = 0;
  // The stream reaches that event again, after the events given up before it.
  if (stoppage_) stopped_before_ = stoppage_;
  stoppage_.reset();
  stopped_unparked_ = false;
  ++counters_.rewinds;
}

void Pipeline::RewindToCheckpoint() {
  Rewind();
  held_latencies_.Clear();
  uncommitted_ = DeliveryCounters();
  ForgetPositions();
}

void Pipeline::StartOver() {
  RewindToCheckpoint();
  suspects_.Clear();
  refused_.reset();
  dead_.clear();
  unreported_letters_.clear();
  decision_.reset();
  skips_ = Skips();
  stopped_before_.reset();
  stood_at_.reset();
  isolating_.reset();
}

void Pipeline::ForgetPositions() {
  window_ = AcknowledgementWindow(window_options_);
  resume_filter_ = ResumeFilter();
  history_ = HistoryCheck();
  floor_ = Lsn();
  divergence_.reset();
}

void Pipeline::Resume(Lsn confirmed, const Position& acknowledged_through,
                      const CommitIdentity& commit) {
  const bool is_event = acknowledged_through.ordinal > 0;
  const CommitIdentity known = is_event ? commit : CommitIdentity();
  window_.Resume(confirmed, acknowledged_through, known);
  history_.Know(known);
  if (is_event) {
    floor_ = Lsn();
    return;
  }
  // What precedes its position had its writer's trust, and has no proof.
  history_.Trust(acknowledged_through.commit_lsn);
  floor_ = std::max(floor_, acknowledged_through.commit_lsn);
}

void Pipeline::BeginStream(Lsn from) {
  if (from > window_.received()) {
    floor_ = from;
    history_.Trust(from);
    if (window_.empty()) window_.Resume(from, Position{from, 0});
  }
  window_.AddBoundary(from);
  // Records in flight may still be acknowledged, and with them the boundaries
  // before.
  history_.Begin(from, window_.received(), window_.covered_commit());
  if (trial_) trial_->is_held = false;
  is_between_transactions_ = true;
  // Not shown again: another instance has dealt with it.
  if (refused_ && refused_->position.commit_lsn < from) refused_.reset();
  ForgetSettled();
}

void Pipeline::OnCommitted(WallTime now) {
  held_latencies_.Record(now, latency_);
  counters_ += std::exchange(uncommitted_, DeliveryCounters());
  uncommitted_records_ = 0;
  std::erase_if(
      dead_, [this](const auto& entry) { return window_.Covers(entry.first); });
}

// Another instance has delivered those events, or set them aside.
void Pipeline::ForgetSettled() {
  if (stopped_before_ && window_.Covers(stopped_before_->position)) {
    stopped_before_.reset();
  }
  if (refused_ && window_.Covers(refused_->position)) refused_.reset();
  std::erase_if(
      dead_, [this](const auto& entry) { return window_.Covers(entry.first); });
  // Those in flight are still to be reported.
  std::erase_if(unreported_letters_, [this](const auto& entry) {
    return entry.first <= acknowledged_through();
  });
}

// Called for every event; false stops the stream.
bool Pipeline::Continues(const Event& event) {
  const absl::Status status = history_.OnCommit(
      {event.position.commit_lsn, event.xid, event.commit_time});
  if (!status.ok()) divergence_ = status;
  return status.ok();
}

void Pipeline::PassBoundary(Lsn lsn) {
  const absl::Status status = history_.OnBoundary(lsn);
  if (!status.ok()) divergence_ = status;
  if (!divergence_) window_.AddBoundary(lsn);
}

Pipeline::Offer Pipeline::OnEvent(const Event& event) {
  return CanTake() ? Take(event, absl::OkStatus()) : Offer::kHold;
}

Pipeline::Offer Pipeline::OnUndeliverable(const Event& event,
                                          const absl::Status& reason) {
  // To stop before it needs neither a sink nor room.
  const bool stops = ActionFor(event.position, reason) == ErrorAction::kStop;
  const bool can_take = stops ? !stoppage_ && !divergence_ : CanTake();
  return can_take ? Take(event, reason) : Offer::kHold;
}

// `mapped`: the event's error, if it could not be mapped.
Pipeline::Offer Pipeline::Take(const Event& event, const absl::Status& mapped) {
  if (!Continues(event)) return Offer::kHold;
  const Offer offer = IsTried(event) ? Offer::kTaken : Decide(event, mapped);
  is_between_transactions_ = false;
  if (offer == Offer::kTaken && trial_is_open()) {
    trial_->is_held = true;
    return HoldBack();
  }
  const bool is_past = offer == Offer::kTaken && stopped_before_ &&
                       stopped_before_->position <= event.position;
  if (is_past) stopped_before_.reset();
  return offer;
}

Pipeline::Offer Pipeline::Decide(const Event& event,
                                 const absl::Status& mapped) {
  if (PassOver(event)) return Offer::kTaken;  // perhaps deliverable before
  if (const std::string* decision = DecisionToSkip(event)) {
    return SkipAsDecided(event, *decision);
  }
  if (const auto offer = OfferToParking(event, mapped)) return *offer;
  if (const absl::Status* reason = RefusalOf(event.position)) {
    return Refuse(event, *reason);
  }
  const bool is_suspect = IsSuspect(event);
  one_at_a_time_ = is_suspect && !TriesAlone();
  if (one_at_a_time_ && !window_.empty()) return HoldBack();
  return Carry(event, mapped.ok()
                          ? dispatch_.Send(event, window_.next_sequence())
                          : dispatch_.Judge(mapped));
}

// nullopt: it is to be delivered.
std::optional<Pipeline::Offer> Pipeline::OfferToParking(
    const Event& event, const absl::Status& mapped) {
  if (parking_ == nullptr) return std::nullopt;
  IsolateIfDue(event);
  switch (parking_->ClaimOf(event)) {
    case Parking::Claim::kFree:
      return std::nullopt;
    case Parking::Claim::kIsolated:
      if (!mapped.ok()) return std::nullopt;
      [[fallthrough]];
    case Parking::Claim::kFollows:
      return CanTake() ? Park(event, mapped) : HoldBack();
    case Parking::Claim::kFull:
    case Parking::Claim::kConflict:
      if (!IsDecidedAbout(event.position)) {
        return StopUnparked(event, parking_->MayPark(event));
      }
      return Refuse(event, parking_->MayPark(event));
    case Parking::Claim::kSettled:
      if (!CanTake()) return HoldBack();
      CountUnreportedLetter(event.position);
      return LeaveOut(event);
    case Parking::Claim::kWaits:
      held_ = absl::ResourceExhaustedError("what it follows is being released");
      break;
  }
  return HoldBack();
}

Pipeline::Offer Pipeline::HoldBack() {
  --counters_.events;  // it will be offered again
  return Offer::kHold;
}

// Why the brokers do not take the event.
const absl::Status* Pipeline::RefusalOf(const Position& position) const {
  if (refused_ && position >= refused_->position) return &refused_->reason;
  const auto found = dead_.find(position);
  return found == dead_.end() ? nullptr : &found->second;
}

void Pipeline::OnTransactionEnd(Lsn end_lsn) {
  ++counters_.transactions;
  is_between_transactions_ = true;
  PassBoundary(end_lsn);
}

bool Pipeline::IsSuspect(const Event& event) {
  if (suspects_.empty()) return false;
  if (suspects_.LieBefore(event.position)) suspects_.Clear();
  return suspects_.Span(event.position);
}

bool Pipeline::PassOver(const Event& event) {
  ++counters_.events;
  if (window_.Covers(event.position)) {
    ++counters_.repeats;
    return true;
  }
  if (!resume_filter_.IsAcknowledged({event.position, event.xid})) return false;
  AddSettled(event);
  ++counters_.repeats;
  return true;
}

// The event needs no record; in the window, a further repeat finds it.
void Pipeline::AddSettled(const Event& event) {
  const Sequence sequence = window_.next_sequence();
  PutInWindow(event, 0, kNoErrorClass);
  window_.Acknowledge(sequence);
}

Pipeline::Offer Pipeline::Carry(const Event& event, Dispatch::Outcome outcome,
                                uint8_t error_class) {
  switch (outcome.verdict) {
    case Verdict::kSent:
      if (TriesAlone()) trial_ = {event.position, window_.next_sequence()};
      PutInWindow(event, outcome.record_bytes, error_class);
      ++uncommitted_records_;
      return Offer::kTaken;
    case Verdict::kHold:
      held_ = std::move(outcome.reason);
      held_at_ = event.position;
      break;
    case Verdict::kReplaceSink:
      sink_failure_ = std::move(outcome.reason);
      break;
    case Verdict::kRefuse:
      if (error_class != kNoErrorClass) {
        return Stop(event, std::move(outcome.reason));
      }
      return Refuse(event, std::move(outcome.reason));
  }
  return HoldBack();
}

void Pipeline::PutInWindow(const Event& event, size_t bytes,
                           uint8_t error_class) {
  window_.Add(
      {event.position, event.commit_time, bytes, event.xid, error_class});
}

void Pipeline::OnAcknowledged(Sequence sequence, WallTime now) {
  const InFlightRecord* record = window_.Acknowledge(sequence);
  if (record == nullptr) return;
  CountSetAside(*record);
  OnTriedWell(sequence);
  if (record->is_record()) {
    ++counters_.acknowledged;
    if (awaits_commits_) {
      held_latencies_.Add(record->commit_time);
    } else {
      latency_.Record(now - record->commit_time);
    }
  }
  OnRoom();
}

void Pipeline::OnRoom() {
  if (held_ && absl::IsResourceExhausted(*held_)) held_.reset();
}

void Pipeline::OnNotDelivered(Sequence sequence, const absl::Status& error) {
  ++counters_.not_delivered;
  const InFlightRecord* record = window_.Find(sequence);
  if (record == nullptr) return;
  const bool is_rejected = absl::IsInvalidArgument(error);
  if (MayWithdraw(sequence)) {
    if (is_rejected) return OnRejectedAlone(*record, error);
    if (absl::IsResourceExhausted(error)) return Withdraw(sequence);
  }
  if (is_rejected) OnRefused(*record, error);
  // A rejected record fails its whole batch and, because of the order,
  // everything behind it: the sink must be replaced. Whatever else it reports
  // comes of that.
  if (!sink_failure_ || is_rejected) sink_failure_ = error;
}

void Pipeline::OnRefused(const InFlightRecord& record,
                         const absl::Status& error) {
  is_careful_ = tries_alone_;
  accepted_alone_ = 0;
  const bool was_alone = window_.in_flight_records() == 1;
  if (!suspects_.OnRejected(record.position, was_alone)) return;
  refused_ = {record.position, error, record.is_dead_letter()};
  ++rejections_;
}

std::optional<Position> Pipeline::standing_at() const {
  const InFlightRecord* oldest = window_.oldest();
  if (oldest != nullptr) {
    const bool is_event =
        !oldest->is_parked && oldest->error_class == kNoErrorClass;
    return is_event ? std::optional(oldest->position) : std::nullopt;
  }
  const bool is_held = held_ && absl::IsUnavailable(*held_);
  const std::optional<Position> at = is_held ? held_at_ : stood_at_;
  const bool is_open = at && !stoppage_ && *at > acknowledged_through();
  return is_open && !dead_.contains(*at) ? at : std::nullopt;
}

void Pipeline::Isolate(const Position& position) {
  isolating_ = position;
  if (window_.empty()) {
    held_.reset();
  } else if (!sink_failure_) {
    sink_failure_ = absl::AbortedError("a topic takes no records");
  }
}

void Pipeline::IsolateIfDue(const Event& event) {
  if (!isolating_ || event.position < *isolating_) return;
  if (event.position == *isolating_) parking_->Isolate(event);
  isolating_.reset();
}

Position Pipeline::settled_through() const {
  return std::max(acknowledged_through(), Position{confirmed(), 0});
}

void Pipeline::Suspect(const Position& first, const Position& last) {
  suspects_.Add(first);
  suspects_.Add(last);
}

void Pipeline::OnSinkFailed(const absl::Status& error) {
  if (!sink_failure_) sink_failure_ = error;
}

}  // namespace walpost
