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
      "repair the row, and send it with walpost replay -c FILE --from-table "
      "--ids FILE; then discard the dead letter";
  // Its dead letter has only what could be read, or mapped: nothing, if the
  // table had other columns when the row was written.
  const bool is_partial =
      letter.error_class == kReasonTableUnsuitable ||
      std::ranges::find(kUnreadableReasons, letter.error_class) !=
          kUnreadableReasons.end();
  if (is_partial) {
    return absl::FailedPreconditionError(
        fmt::format("the row could not be read ({}), and the dead letter has "
                    "no more than could be: {}",
                    letter.error_class, kRemedy));
  }
  if (!letter.payload_bytes) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "the dead letter has not the whole payload "
      "(dead_letter.payload): send the row with walpost replay -c "
      "FILE --from-table --ids FILE; then discard the dead letter"));
}

Value ValueOf(const OwnValue& value) {
  if (!value) return std::nullopt;
  return *value;
}

// nullptr: the letter does not have the column.
const OwnValue* FindColumn(const DeadLetter& letter, std::string_view name) {
  const auto column = std::ranges::find(
      letter.columns, name, &std::pair<std::string, OwnValue>::first);
  return column == letter.columns.end() ? nullptr : &column->second;
}

}  // namespace

absl::StatusOr<size_t> LetterEvent::SourceOf(const DeadLetter& letter) const {
  for (size_t i = 0; i < outbox_.tables.size(); ++i) {
    if (outbox_.tables[i].recorded_name() == letter.source) return i;
  }
  const bool is_message =
      outbox_.messages.enabled() && outbox_.messages.prefix == letter.source;
  if (is_message) return outbox_.tables.size();
  return absl::FailedPreconditionError(fmt::format(
      "it comes from {0}, which is not configured: add it to outbox.tables, or "
      "to outbox.messages; if the table was renamed, add formerly: [{0}] to it",
      letter.source));
}

// The mapping may have been the error, and changed since. Fields whose column
// the letter does not have stay as they were mapped.
void LetterEvent::MapAsConfigured(const DeadLetter& letter,
                                  Event& event) const {
  // The key, the payload and the headers are those of its record.
  if (outbox_.debezium) return;
  const FieldSources& sources = event.source < outbox_.tables.size()
                                    ? outbox_.tables[event.source].columns
                                    : outbox_.messages.columns;
  for (const FieldDescription& field : kFields) {
    const FieldSource& source = sources.*field.source;
    const OwnValue* column = nullptr;
    switch (source.kind) {
      case FieldSource::Kind::kUsual:
        break;
      case FieldSource::Kind::kColumn:
        column = FindColumn(letter, source.text);
        if (column != nullptr) event.*field.value = ValueOf(*column);
        break;
      case FieldSource::Kind::kConstant:
        event.*field.value = source.text;
        break;
      case FieldSource::Kind::kAbsent:
        event.*field.value = std::nullopt;
        break;
    }
  }
}

absl::StatusOr<Event> LetterEvent::Of(const DeadLetter& letter) {
  WALPOST_RETURN_IF_ERROR(CheckComplete(letter));
  Event event = FieldsOf(letter);
  WALPOST_ASSIGN_OR_RETURN(event.source, SourceOf(letter));
  MapAsConfigured(letter, event);
  position_ = {};
  if (!letter.position.empty()) {
    WALPOST_ASSIGN_OR_RETURN(position_, ParsePositionText(letter.position));
  }
  event.position = position_.position;
  event.own_position = &position_;
  references_.clear();
  for (const std::string& name : routes_[event.source].references()) {
    const size_t field = FindField(name);
    if (field < kFields.size()) {
      references_.push_back(event.*kFields[field].value);
      continue;
    }
    const OwnValue* column = FindColumn(letter, name);
    if (column == nullptr) {
      return absl::FailedPreconditionError(fmt::format(
          "topic or headers are now made from column {}, which the dead letter "
          "does not have: send the row with walpost replay -c FILE "
          "--from-table --ids FILE; then discard the dead letter",
          name));
    }
    references_.push_back(ValueOf(*column));
  }
  event.references = references_;
  return event;
}

}  // namespace walpost
