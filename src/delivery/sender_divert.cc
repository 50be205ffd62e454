// Sender: events that cannot go out as they are.
#include <utility>

#include "base/reason_code.h"
#include "delivery/sender.h"
#include "fmt/format.h"
#include "outbox/event_digest.h"

namespace walpost {

ErrorAction Sender::ActionFor(const Position& position,
                              const absl::Status& reason) const {
  if (IsDecidedAbout(position)) return decision_->second;
  return error_actions_.For(reason);
}

// The event cannot go out as it is.
Sender::Offer Sender::Refuse(const Event& event, absl::Status reason) {
  const bool is_known = IsRefused(event);
  if (refused_ && refused_->position < event.position) {
    return Stop(event, std::move(reason));
  }
  const ErrorAction action = ActionFor(event.position, reason);
  if (is_known && refused_->is_of_dead_letter && !LeavesOut(action)) {
    return StopBeforeDeadLetter(event, reason);
  }
  Offer offer = Offer::kBackpressure;
  switch (action) {
    case ErrorAction::kStop:
      return Stop(event, std::move(reason));
    case ErrorAction::kDeadLetter:
      offer = SendDeadLetter(event, reason);
      break;
    case ErrorAction::kPark:
      offer = ParkOrStop(event, reason);
      break;
    case ErrorAction::kSkip:
      offer = Skip(action, event, reason);
      break;
  }
  if (offer == Offer::kBackpressure || !is_known) return offer;
  // Until it is durable, the stream may show it again. An event that is skipped
  // would be sent again, and would end its transaction once more.
  if (!LeavesOut(action) || awaits_commits_) {
    dead_[event.position] = reason;
  }
  return offer;
}

Sender::Offer Sender::StopBeforeDeadLetter(const Event& event,
                                           const absl::Status& error) {
  const std::string code = ReasonCodeOf(error);
  const std::string text =
      fmt::format("its dead letter cannot be delivered: {}{}",
                  std::string(error.message()), IfLetterIsTooLarge(error));
  const Offer offer =
      Stop(event, WithReasonCode(absl::InvalidArgumentError(text), code));
  blocked_event_->is_of_dead_letter = true;
  return offer;
}

Sender::Offer Sender::SendDeadLetter(const Event& event,
                                     const absl::Status& reason) {
  if (parking_ != nullptr && parking_->KeepsLetters()) {
    return KeepLetter(event, reason);
  }
  const uint8_t error_class = ErrorClassOf(reason);
  const Offer offer = Carry(
      event,
      record_sender_.SendDeadLetter(event, reason, window_.next_sequence()),
      error_class);
  if (offer == Offer::kAccepted) {
    ReportSetAside(ErrorAction::kDeadLetter, event, reason);
  }
  return offer;
}

// The dead letter is stored in the place of parked events.
Sender::Offer Sender::KeepLetter(const Event& event,
                                 const absl::Status& reason) {
  if (!CanTake()) return HoldBack();
  const size_t bytes =
      parking_->KeepLetter(event, reason, window_.next_sequence());
  PutInWindow(event, bytes, ErrorClassOf(reason), Kind::kStoredLetter);
  unreported_letters_[event.position] = ErrorClassOf(reason);
  ReportSetAside(ErrorAction::kDeadLetter, event, reason);
  return Offer::kAccepted;
}

Sender::Offer Sender::Skip(ErrorAction action, const Event& event,
                           const absl::Status& reason) {
  AddSettled(event);
  ++counters_of_events().skipped[ErrorClassOf(reason)];
  ReportSetAside(action, event, reason);
  return Offer::kAccepted;
}

std::string Sender::DigestOf(const Event& event) const {
  return EventDigest(builder().routes()[event.source].source(), event);
}

const std::string& Sender::TableOf(const Event& event) const {
  return builder().routes()[event.source].table();
}

// nullptr: nobody has decided to leave it out.
const std::string* Sender::DecisionToSkip(const Event& event) {
  if (!skips_.MayHave(event.position)) return nullptr;
  const std::string digest = DigestOf(event);
  const Skips::Entry* entry = skips_.Find(event.position, digest);
  return entry != nullptr && entry->digest == digest ? &entry->fact : nullptr;
}

Sender::Offer Sender::SkipAsDecided(const Event& event,
                                    const std::string& decision) {
  if (!CanTake()) return HoldBack();
  return Skip(ErrorAction::kSkip, event,
              absl::InvalidArgumentError(
                  fmt::format("skipped, on record: {}", decision)));
}

Sender::Offer Sender::ParkOrStop(const Event& event,
                                 const absl::Status& reason) {
  if (parking_ == nullptr) return Stop(event, reason);
  if (parking_->WasReleased(event)) return LeaveOut(event);
  if (!CanTake()) return HoldBack();
  const absl::Status may = parking_->MayPark(event);
  if (may.ok()) return Park(event, reason);
  const std::string text = fmt::format("{}; {}", std::string(reason.message()),
                                       std::string(may.message()));
  return StopUnparked(event, WithReasonCode(absl::InvalidArgumentError(text),
                                            ReasonCodeOf(reason)));
}

Sender::Offer Sender::StopUnparked(const Event& event,
                                   const absl::Status& reason) {
  stopped_unparked_ = true;
  return Stop(event, reason);
}

void Sender::OnParkingCapacity() {
  if (std::exchange(stopped_unparked_, false)) blocked_event_.reset();
  OnCapacity();
}

// `reason`: why it cannot be delivered; ok: it follows such an event.
Sender::Offer Sender::Park(const Event& event, const absl::Status& reason) {
  const size_t bytes = parking_->Park(event, reason, window_.next_sequence());
  const uint8_t error_class =
      reason.ok() ? kNoErrorClass : ErrorClassOf(reason);
  PutInWindow(event, bytes, error_class, Kind::kParked);
  one_at_a_time_ = false;
  if (!reason.ok()) ReportSetAside(ErrorAction::kPark, event, reason);
  return Offer::kAccepted;
}

// The event is settled already.
Sender::Offer Sender::LeaveOut(const Event& event) {
  AddSettled(event);
  ++counters_.repeats;
  return Offer::kAccepted;
}

void Sender::ReportSetAside(ErrorAction action, const Event& event,
                            const absl::Status& reason) {
  if (!on_diverted_) return;
  on_diverted_({action, event.position, IdForMessages(event.id.value_or("")),
                reason, TableOf(event)});
}

Sender::Offer Sender::Stop(const Event& event, absl::Status reason) {
  blocked_event_ = BlockedEvent{
      event.position,    IdForMessages(event.id.value_or("")),
      std::move(reason), IdForMessages(event.aggregate_id.value_or("")),
      DigestOf(event),   TableOf(event)};
  stopped_before_.reset();
  return Offer::kBackpressure;
}

void Sender::CountSetAside(const InFlightRecord& record) {
  if (record.error_class == kNoErrorClass) {
    counters_.parked_behind += record.is_parked();
    return;
  }
  if (record.is_record()) {
    ++counters_of_events().dead_letters[record.error_class];
    if (!awaits_commits_) dead_.erase(record.position);
    return;
  }
  // It is durable already.
  ++(record.is_parked() ? counters_.parked
                        : counters_.dead_letters)[record.error_class];
  dead_.erase(record.position);
  if (!record.is_parked()) unreported_letters_.erase(record.position);
}

// The letter is stored.
void Sender::CountUnreportedLetter(const Position& position) {
  const auto found = unreported_letters_.find(position);
  if (found == unreported_letters_.end()) return;
  ++counters_.dead_letters[found->second];
  unreported_letters_.erase(found);
  dead_.erase(position);
}

bool Sender::Decide(const Position& position, ErrorAction action) {
  if (!blocked_event_ || blocked_event_->position != position) return false;
  // Nothing of the row is known: its dead letter would be empty.
  const bool is_unmapped =
      ReasonCodeOf(blocked_event_->reason) == kReasonTableUnsuitable;
  if (is_unmapped && action == ErrorAction::kDeadLetter) return false;
  const std::pair decision(position, action);
  if (decision_ == decision) return false;  // it was of no use
  decision_ = decision;
  blocked_event_.reset();
  stopped_unparked_ = false;
  return true;
}

}  // namespace walpost
