#include "parking/parked_event.h"

#include <algorithm>
#include <utility>

#include "base/reason_code.h"
#include "base/utf8.h"
#include "outbox/dead_letter_builder.h"
#include "outbox/event_digest.h"
#include "outbox/fields.h"

namespace walpost {
namespace {

constexpr size_t kMaxReasonBytes = 1'000;

OwnValue Own(const Value& value) {
  if (!value) return std::nullopt;
  return std::string(*value);
}

size_t SizeOf(const OwnValue& value) { return value ? value->size() : 0; }

}  // namespace

std::string_view ToString(ParkedState state) {
  switch (state) {
    case ParkedState::kDead:
      return "dead";
    case ParkedState::kWaiting:
      return "waiting";
    case ParkedState::kRetry:
      return "retry";
    case ParkedState::kReleased:
      return "released";
    case ParkedState::kDiscarded:
      return "discarded";
    case ParkedState::kLetter:
      return "dead_letter";
    case ParkedState::kLetterRetry:
      return "dead_letter_retry";
    case ParkedState::kLetterRetried:
      return "dead_letter_retried";
    case ParkedState::kLetterDiscarded:
      return "dead_letter_discarded";
  }
  return "dead";
}

std::optional<Disposition> DispositionOf(ParkedState state) {
  switch (state) {
    case ParkedState::kDead:
    case ParkedState::kWaiting:
    case ParkedState::kRetry:
      return Disposition::kParked;
    case ParkedState::kLetter:
    case ParkedState::kLetterRetry:
      return Disposition::kDeadLetter;
    case ParkedState::kDiscarded:
    case ParkedState::kLetterDiscarded:
      return Disposition::kDiscarded;
    case ParkedState::kReleased:
    case ParkedState::kLetterRetried:
      return std::nullopt;
  }
  return std::nullopt;
}

size_t ParkedEvent::size() const {
  size_t size = kOverheadBytes + SizeOf(content.payload) +
                SizeOf(content.headers) + SizeOf(content.aggregate_id);
  for (const auto& [name, value] : content.columns) size += SizeOf(value);
  return size;
}

ParkedEvent CopyAsLetter(const Event& event, const Route& route,
                         const absl::Status& reason, std::string topic,
                         DeadLetterOptions::Payload part) {
  const KeptPayload kept = KeepPayload(event.payload, part);
  Event cut = event;
  cut.payload = kept.payload;
  ParkedEvent letter = CopyForParking(cut, route, reason);
  letter.digest = EventDigest(route.source(), event);
  letter.state = ParkedState::kLetter;
  letter.content.payload_bytes = kept.whole_bytes;
  letter.content.topic = std::move(topic);
  return letter;
}

ParkedEvent CopyForParking(const Event& event, const Route& route,
                           const absl::Status& reason) {
  ParkedEvent parked;
  parked.position = event.position;
  parked.digest = EventDigest(route.source(), event);
  parked.state = reason.ok() ? ParkedState::kWaiting : ParkedState::kDead;
  DeadLetter& content = parked.content;
  content.error_class = ReasonCodeOf(reason);
  content.reason = ValidUtf8({reason.message().data(), reason.message().size()},
                             kMaxReasonBytes);
  content.source = route.source();
  content.id = Own(event.id);
  content.aggregate_type = Own(event.aggregate_type);
  content.aggregate_id = Own(event.aggregate_id);
  content.type = Own(event.type);
  content.payload = Own(event.payload);
  content.headers = Own(event.headers);
  content.commit_time = event.commit_time;
  content.timestamp = event.timestamp;
  // Fields have places of their own.
  const size_t count =
      std::min(event.references.size(), route.references().size());
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = route.references()[i];
    if (FindField(name) < kFields.size()) continue;
    content.columns.emplace_back(name, Own(event.references[i]));
  }
  return parked;
}

}  // namespace walpost
