#include "dead_letters/dead_letter.h"

#include <charconv>
#include <chrono>
#include <string_view>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/dead_letter_builder.h"
#include "outbox/event_digest.h"
#include "outbox/options.h"
#include "walpost/v1/dead_letter.pb.h"

namespace walpost {
namespace {

constexpr std::string_view kPrefix = "walpost-dead-letter-";
constexpr std::string_view kColumnPrefix = "column-";

void Set(OwnValue& field, const Value& value) {
  if (value) {
    field.emplace(*value);
  } else {
    field.reset();
  }
}

Value View(const OwnValue& value) {
  if (!value) return std::nullopt;
  return *value;
}

std::string Text(const Value& value) { return std::string(value.value_or("")); }

template <typename Number>
absl::StatusOr<Number> ParseNumber(std::string_view name, const Value& value) {
  const std::string_view text = value.value_or("");
  Number number{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && rest == end && !text.empty()) return number;
  return absl::InvalidArgumentError(
      fmt::format("header {}{}: '{}' is not a number", kPrefix, name, text));
}

absl::StatusOr<WallTime> ParseMillis(std::string_view name,
                                     const Value& value) {
  WALPOST_ASSIGN_OR_RETURN(const int64_t millis,
                           ParseNumber<int64_t>(name, value));
  return WallTime(std::chrono::milliseconds(millis));
}

// `name`: without the prefix.
absl::Status TakeHeader(std::string_view name, const Value& value,
                        DeadLetter& letter) {
  if (name == "reason") {
    letter.reason = Text(value);
  } else if (name == "topic") {
    letter.topic = Text(value);
  } else if (name == "source") {
    letter.source = Text(value);
  } else if (name == "aggregate-type") {
    Set(letter.aggregate_type, value);
  } else if (name == "type") {
    Set(letter.type, value);
  } else if (name == "headers") {
    Set(letter.headers, value);
  } else if (name == "commit-time") {
    WALPOST_ASSIGN_OR_RETURN(letter.commit_time, ParseMillis(name, value));
  } else if (name == "timestamp") {
    WALPOST_ASSIGN_OR_RETURN(letter.timestamp, ParseMillis(name, value));
  } else if (name == "payload-bytes") {
    WALPOST_ASSIGN_OR_RETURN(letter.payload_bytes,
                             ParseNumber<uint64_t>(name, value));
  } else if (name.starts_with(kColumnPrefix)) {
    auto& [column, own] = letter.columns.emplace_back();
    column = name.substr(kColumnPrefix.size());
    Set(own, value);
  }
  return absl::OkStatus();
}

absl::Status TakeEnvelope(const Value& value, DeadLetter& letter) {
  v1::DeadLetter envelope;
  const std::string_view bytes = value.value_or("");
  if (!envelope.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(
        "its value is not a walpost.v1.DeadLetter");
  }
  Set(letter.payload,
      envelope.has_payload() ? Value(envelope.payload()) : std::nullopt);
  return absl::OkStatus();
}

}  // namespace

Event FieldsOf(const DeadLetter& letter) {
  Event event;
  event.id = View(letter.id);
  event.aggregate_type = View(letter.aggregate_type);
  event.aggregate_id = View(letter.aggregate_id);
  event.type = View(letter.type);
  event.payload = View(letter.payload);
  event.headers = View(letter.headers);
  event.commit_time = letter.commit_time;
  event.timestamp = letter.timestamp;
  return event;
}

std::string DigestOf(const DeadLetter& letter) {
  return EventDigest(letter.source, FieldsOf(letter));
}

absl::StatusOr<std::optional<DeadLetter>> ReadDeadLetter(const Record& record) {
  std::optional<DeadLetter> letter(std::in_place);
  bool is_one = false;
  bool is_envelope = false;
  for (const auto& [name, value] : record.headers) {
    if (name == kIdHeader) {
      Set(letter->id, value);
    } else if (name == kPositionHeader) {
      letter->position = Text(value);
    } else if (name == kDeadLetterHeader) {
      is_one = true;
      letter->error_class = Text(value);
    } else if (name == kDeadLetterFormatHeader) {
      is_envelope = true;
    } else if (name.starts_with(kPrefix)) {
      WALPOST_RETURN_IF_ERROR(
          TakeHeader(name.substr(kPrefix.size()), value, *letter));
    }
  }
  if (!is_one) return std::nullopt;
  Set(letter->aggregate_id, record.key);
  Set(letter->payload, record.value);
  if (is_envelope) WALPOST_RETURN_IF_ERROR(TakeEnvelope(record.value, *letter));
  return letter;
}

}  // namespace walpost
