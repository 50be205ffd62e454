#include "dead_letters/letter_event.h"

#include <algorithm>
#include <string_view>

#include "base/reason_code.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/fields.h"

namespace walpost {
namespace {

absl::Status CheckComplete(const DeadLetter& letter) {
  constexpr std::string_view kRemedy =
      "repair the row, and send it with walpost replay -c FILE --from-table; "
      "then discard the dead letter";
  // Its dead letter has only what could be read.
  if (std::ranges::find(kUnreadableReasons, letter.error_class) !=
      kUnreadableReasons.end()) {
    return absl::FailedPreconditionError(
        fmt::format("the row could not be read ({}), and the dead letter has "
                    "no more than could be: {}",
                    letter.error_class, kRemedy));
  }
  if (!letter.payload_bytes) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("the dead letter has not the whole payload "
                  "(dead_letter.payload): send the row with walpost replay -c "
                  "FILE --from-table; then discard the dead letter"));
}

Value View(const OwnValue& value) {
  if (!value) return std::nullopt;
  return *value;
}

}  // namespace

absl::StatusOr<size_t> LetterEvent::SourceOf(const DeadLetter& letter) const {
  for (size_t i = 0; i < outbox_.tables.size(); ++i) {
    if (outbox_.tables[i].name == letter.source) return i;
  }
  const bool is_message =
      outbox_.messages.enabled() && outbox_.messages.prefix == letter.source;
  if (is_message) return outbox_.tables.size();
  return absl::FailedPreconditionError(fmt::format(
      "it comes from {}, which is not configured: add it to outbox.tables, or "
      "to outbox.messages",
      letter.source));
}

absl::StatusOr<Event> LetterEvent::Of(const DeadLetter& letter) {
  WALPOST_RETURN_IF_ERROR(CheckComplete(letter));
  Event event;
  WALPOST_ASSIGN_OR_RETURN(event.source, SourceOf(letter));
  event.id = View(letter.id);
  event.aggregate_type = View(letter.aggregate_type);
  event.aggregate_id = View(letter.aggregate_id);
  event.type = View(letter.type);
  event.payload = View(letter.payload);
  event.headers = View(letter.headers);
  timeline_ = 0;
  if (!letter.position.empty()) {
    WALPOST_ASSIGN_OR_RETURN(const TimelinePosition at,
                             ParsePositionText(letter.position));
    event.position = at.position;
    timeline_ = at.timeline;
  }
  event.commit_time = letter.commit_time;
  event.timestamp = letter.timestamp;
  references_.clear();
  for (const std::string& name : routes_[event.source].references()) {
    const size_t field = FindField(name);
    if (field < kFields.size()) {
      references_.push_back(event.*kFields[field].value);
      continue;
    }
    const auto column = std::ranges::find(
        letter.columns, name, &std::pair<std::string, OwnValue>::first);
    if (column == letter.columns.end()) {
      return absl::FailedPreconditionError(fmt::format(
          "topic or headers are now made from column {}, which the dead letter "
          "does not have: send the row with walpost replay -c FILE "
          "--from-table; then discard the dead letter",
          name));
    }
    references_.push_back(View(column->second));
  }
  event.references = references_;
  return event;
}

}  // namespace walpost
