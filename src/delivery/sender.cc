#include "delivery/sender.h"

#include <utility>

namespace walpost {

Sender::Sender(std::unique_ptr<RecordBuilder> builder,
               AcknowledgementWindow::Options window)
    : record_sender_(std::move(builder), Ordering::kByPosition, counters_),
      window_options_(window),
      window_(window) {}

void Sender::Rewind() {
  stood_at_ = standing_at();
  duplicate_filter_.Add(window_.Clear());
  sink_failure_.reset();
  held_.reset();
  one_at_a_time_ = false;
  trial_.reset();
  uncommitted_records_ = 0;
  // The source reaches that event again, after the events given up before it.
  if (blocked_event_) stopped_before_ = blocked_event_;
  blocked_event_.reset();
  stopped_unparked_ = false;
  ++counters_.rewinds;
}

void Sender::ForgetProgress() {
  Rewind();
  held_latencies_.Clear();
  uncommitted_ = DeliveryCounters();
  window_ = AcknowledgementWindow(window_options_);
  duplicate_filter_ = DuplicateFilter();
}

void Sender::StartOver() {
  ForgetProgress();
  batch_bisector_.Clear();
  refused_.reset();
  dead_.clear();
  unreported_letters_.clear();
  decision_.reset();
  skips_ = Skips();
  stopped_before_.reset();
  stood_at_.reset();
  isolating_.reset();
}

void Sender::BeginSequence(const Position& first) {
  if (trial_) trial_->is_held = false;
  is_between_transactions_ = true;
  if (stopped_before_ && window_.Covers(stopped_before_->position)) {
    stopped_before_.reset();
  }
  if (refused_ && refused_->position < first) refused_.reset();
  if (refused_ && window_.Covers(refused_->position)) refused_.reset();
  ForgetDead();
  // Those in flight are still to be reported.
  std::erase_if(unreported_letters_, [this](const auto& entry) {
    return entry.first <= window_.acknowledged().position;
  });
}

void Sender::OnCommitted(WallTime now) {
  held_latencies_.Record(now, record_sender_.latencies());
  counters_ += std::exchange(uncommitted_, DeliveryCounters());
  uncommitted_records_ = 0;
  ForgetDead();
}

void Sender::ForgetDead() {
  std::erase_if(
      dead_, [this](const auto& entry) { return window_.Covers(entry.first); });
}

bool Sender::MayTake(const Event& event, const absl::Status& mapped) const {
  // To stop before it needs neither a sink nor room.
  const bool stops =
      !mapped.ok() && ActionFor(event.position, mapped) == ErrorAction::kStop;
  return stops ? !blocked_event_ : CanTake();
}

Sender::Offer Sender::Take(const Event& event, const absl::Status& mapped) {
  const Offer offer = IsTried(event) ? Offer::kAccepted : Decide(event, mapped);
  is_between_transactions_ = false;
  if (offer == Offer::kBackpressure) return offer;
  if (IsRefused(event)) refused_.reset();
  if (trial_is_open()) {
    trial_->is_held = true;
    return HoldBack();
  }
  const bool is_past =
      stopped_before_ && stopped_before_->position <= event.position;
  if (is_past) stopped_before_.reset();
  return offer;
}

Sender::Offer Sender::Decide(const Event& event, const absl::Status& mapped) {
  if (PassOver(event)) return Offer::kAccepted;  // perhaps deliverable before
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
                          ? record_sender_.Send(event, window_.next_sequence())
                          : record_sender_.Judge(mapped));
}

// nullopt: it is to be delivered.
std::optional<Sender::Offer> Sender::OfferToParking(
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

Sender::Offer Sender::HoldBack() {
  --counters_.events;  // it will be offered again
  return Offer::kBackpressure;
}

// Why the brokers do not take the event.
const absl::Status* Sender::RefusalOf(const Position& position) const {
  if (refused_ && position >= refused_->position) return &refused_->reason;
  const auto found = dead_.find(position);
  return found == dead_.end() ? nullptr : &found->second;
}

void Sender::OnTransactionEnd() {
  ++counters_.transactions;
  is_between_transactions_ = true;
}

bool Sender::IsSuspect(const Event& event) {
  if (batch_bisector_.empty()) return false;
  if (batch_bisector_.LieBefore(event.position)) batch_bisector_.Clear();
  return batch_bisector_.Span(event.position);
}

bool Sender::PassOver(const Event& event) {
  ++counters_.events;
  const bool is_covered = window_.Covers(event.position);
  if (!is_covered && !duplicate_filter_.IsAcknowledged(event.identity())) {
    return false;
  }
  if (!is_covered) AddSettled(event);
  ++counters_.repeats;
  return true;
}

// The event needs no record; in the window, a further repeat finds it.
void Sender::AddSettled(const Event& event) {
  const Sequence sequence = window_.next_sequence();
  PutInWindow(event, 0, kNoErrorClass, Kind::kSent);
  window_.Acknowledge(sequence);
}

Sender::Offer Sender::Carry(const Event& event, RecordSender::Outcome outcome,
                            uint8_t error_class) {
  switch (outcome.verdict) {
    case SendOutcome::kSent:
      if (TriesAlone()) trial_ = {event.position, window_.next_sequence()};
      PutInWindow(event, outcome.record_bytes, error_class, Kind::kSent,
                  outcome.label);
      ++uncommitted_records_;
      return Offer::kAccepted;
    case SendOutcome::kBackpressure:
      held_ = std::move(outcome.reason);
      held_at_ = event.position;
      break;
    case SendOutcome::kReplaceSink:
      sink_failure_ = std::move(outcome.reason);
      break;
    case SendOutcome::kRefuse:
      if (error_class != kNoErrorClass) {
        return Stop(event, std::move(outcome.reason));
      }
      return Refuse(event, std::move(outcome.reason));
  }
  return HoldBack();
}

void Sender::PutInWindow(const Event& event, size_t bytes, uint8_t error_class,
                         Kind kind, LatencyLabel label) {
  window_.Add({event.position, event.commit_time, bytes, event.xid, error_class,
               kind, label});
  if (window_.HasCapacity() || !record_sender_.has_sink()) return;
  window_.SpreadOver(record_sender_.sink()->partitions());
}

void Sender::OnAcknowledged(Sequence sequence, WallTime now) {
  const InFlightRecord* record = window_.Acknowledge(sequence);
  if (record == nullptr) return;
  CountSetAside(*record);
  OnTriedWell(sequence);
  if (record->is_record()) {
    ++counters_.acknowledged;
    if (awaits_commits_) {
      held_latencies_.Add(record->commit_time, record->label);
    } else {
      record_sender_.latencies().Record(record->label,
                                        now - record->commit_time);
    }
  }
  OnCapacity();
}

void Sender::OnCapacity() {
  if (held_ && absl::IsResourceExhausted(*held_)) held_.reset();
}

void Sender::OnNotDelivered(Sequence sequence, const absl::Status& error) {
  ++counters_.not_delivered;
  const InFlightRecord* record = window_.Find(sequence);
  if (record == nullptr) return;
  const bool is_rejected = absl::IsInvalidArgument(error);
  if (MayWithdraw(sequence)) {
    if (is_rejected) return OnRejectedAlone(*record, error);
    if (absl::IsResourceExhausted(error)) return Withdraw(sequence);
  }
  const bool is_alone = window_.in_flight_records() == 1;
  if (is_rejected) OnRefused(*record, error, is_alone);
  // A rejected record fails its whole batch and, because of the order,
  // everything behind it: the sink must be replaced. Whatever else it reports
  // comes of that.
  if (!sink_failure_ || is_rejected) sink_failure_ = error;
}

void Sender::OnRefused(const InFlightRecord& record, const absl::Status& error,
                       bool was_alone) {
  is_careful_ = tries_alone_;
  accepted_alone_ = 0;
  if (!batch_bisector_.OnRejected(record.position, was_alone)) return;
  refused_ = {record.position, error, record.is_dead_letter()};
  ++rejections_;
}

std::optional<Position> Sender::standing_at() const {
  const InFlightRecord* oldest = window_.oldest();
  if (oldest != nullptr) {
    const bool is_event =
        !oldest->is_parked() && oldest->error_class == kNoErrorClass;
    return is_event ? std::optional(oldest->position) : std::nullopt;
  }
  const bool is_held = held_ && IsOfTopic(*held_);
  const std::optional<Position> at = is_held ? held_at_ : stood_at_;
  const bool is_open =
      at && !blocked_event_ && *at > window_.acknowledged().position;
  return is_open && !dead_.contains(*at) ? at : std::nullopt;
}

void Sender::Isolate(const Position& position) {
  isolating_ = position;
  if (window_.empty()) {
    held_.reset();
  } else {
    OnSinkFailed(absl::AbortedError("a topic takes no records"));
  }
}

void Sender::IsolateIfDue(const Event& event) {
  if (!isolating_ || event.position < *isolating_) return;
  if (event.position == *isolating_) parking_->Isolate(event);
  isolating_.reset();
}

// ---- Records that go alone, after a rejection.
//
//   event ──▶ record alone, event held ──▶ accepted: taken ──▶ the next one
//                     ▲                └─▶ rejected: withdrawn, set aside
//                     └── batches again ◀── 50 accepted in a row

bool Sender::TriesAlone() const {
  using After = RecordSink::AfterRejection;
  if (!tries_alone_ || !record_sender_.has_sink()) return false;
  const After after = record_sender_.sink()->after_rejection();
  return after == After::kGoesOnAlone ||
         (after == After::kGoesOn && is_careful_);
}

// A rejection gives up the whole transaction of the sink. Within one of the
// source that is to be whole, nothing can be committed before.
bool Sender::MustCommitFirst() const {
  const bool may_commit = !commits_whole_ || is_between_transactions_;
  return awaits_commits_ && uncommitted_records_ > 0 && may_commit &&
         TriesAlone();
}

bool Sender::MayWithdraw(Sequence sequence) const {
  const bool is_alone = !awaits_commits_ || uncommitted_records_ == 1;
  return trial_ && trial_->sequence == sequence && trial_->is_held &&
         is_alone && !sink_failure_ && TriesAlone();
}

// The stream offers the event again.
void Sender::Withdraw(Sequence sequence) {
  window_.Withdraw(sequence);
  trial_.reset();
  uncommitted_records_ = 0;
  if (on_withdrawn_) on_withdrawn_();
}

// Then it is set aside.
void Sender::OnRejectedAlone(const InFlightRecord& record,
                             const absl::Status& error) {
  OnRefused(record, error, /*was_alone=*/true);
  Withdraw(trial_->sequence);
  record_sender_.sink()->Withdraw();
}

void Sender::OnTriedWell(Sequence sequence) {
  if (!trial_ || trial_->sequence != sequence) return;
  if (++accepted_alone_ < kMinAcceptedAlone || !batch_bisector_.empty()) return;
  is_careful_ = false;
  OnSinkFailed(absl::CancelledError("records go in batches again"));
}

// The brokers have accepted the record of the event that the stream has held.
bool Sender::IsTried(const Event& event) {
  if (!trial_ || trial_->position != event.position || trial_is_open()) {
    return false;
  }
  trial_.reset();
  ++counters_.events;
  return true;
}

}  // namespace walpost
