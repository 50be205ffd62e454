// ErrorActions: the configured action for an event that cannot be delivered, by
// the class of its error (`on_error`).
//
//   stop         the flow stops before it until an operator acts; the default
//   dead_letter  a dead letter takes its place (outbox/dead_letter_builder.h,
//                or delivery/parking.h)
//   park         it waits for an operator, and later events of its key wait
//                behind it (delivery/parking.h)
//   skip         it is left out, with a line in the log
//
// A class is the reason code of an error of one event (base/reason_code.h). An
// error without one of these codes always stops. Pure data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "base/reason_code.h"

namespace walpost {

enum class ErrorAction { kStop, kDeadLetter, kPark, kSkip };

struct ErrorActionInfo {
  ErrorAction action;
  std::string_view name;     // in the configuration
  std::string_view outcome;  // for messages: the event is ...
  // True: afterwards the event exists only in its outbox row, if it has one.
  bool leaves_out = false;
};

// In the order of the enum.
inline constexpr std::array<ErrorActionInfo, 4> kErrorActions = {{
    {ErrorAction::kStop, "stop", "stopped"},
    {ErrorAction::kDeadLetter, "dead_letter", "set aside as a dead letter"},
    {ErrorAction::kPark, "park",
     "parked, and later events of its key wait behind it"},
    {ErrorAction::kSkip, "skip", "left out", /*leaves_out=*/true},
}};

constexpr const ErrorActionInfo& InfoOf(ErrorAction action) {
  return kErrorActions[static_cast<size_t>(action)];
}
constexpr std::string_view ToString(ErrorAction action) {
  return InfoOf(action).name;
}
constexpr bool LeavesOut(ErrorAction action) {
  return InfoOf(action).leaves_out;
}

struct ErrorClass {
  std::string_view code;
  // How an operator can get such events delivered.
  std::string_view remedy;
};

inline constexpr std::array<ErrorClass, 13> kErrorClasses = {{
    {kReasonTopicFieldMissing,
     "give the name a default ({column|default:TEXT}), or the column NOT NULL"},
    {kReasonTopicIllegal, "change the name with |lower or |replace:FROM:TO"},
    {kReasonPartitionIllegal,
     "write the number of a partition that the topic has, or add partitions"},
    {kReasonTooManyTopics,
     "raise kafka.max_topics, or take the column that has so many values out "
     "of the topic's name"},
    {kReasonHeadersUnreadable,
     "write a JSON object that names each header once"},
    {kReasonMessageUnreadable,
     "write a JSON object, or set "
     "outbox.messages.format: payload"},
    {kReasonPayloadMissing, "write the member, or map the payload to null"},
    {kReasonColumnUnreadable, "write a value that the field can have"},
    {kReasonTextNotUtf8, "write text in UTF-8, or map a bytea column"},
    {kReasonConversionFailed,
     "write a value that Debezium's converters accept, or set another "
     "converter"},
    // Which limit to raise is in the error: each sink has its own.
    {kReasonRecordTooLarge, "keep such rows out with a CHECK (sql/outbox.sql)"},
    {kReasonRecordRefused, "change what the brokers or the topic demand"},
    {kReasonUnroutable,
     "bind a queue to the exchange for this routing key, or set "
     "rabbitmq.create"},
}};

// Index into kErrorClasses; kErrorClasses.size(): there is no such class.
constexpr size_t FindErrorClass(std::string_view code) {
  size_t i = 0;
  while (i < kErrorClasses.size() && kErrorClasses[i].code != code) ++i;
  return i;
}

// Index for errors of no class, which only an operator sets aside.
inline constexpr uint8_t kOtherErrors = kErrorClasses.size();
inline constexpr uint8_t kNoErrorClass = 255;

constexpr std::string_view ErrorClassName(size_t index) {
  return index < kErrorClasses.size() ? kErrorClasses[index].code : "other";
}

// Index into kErrorClasses, or kOtherErrors.
uint8_t ErrorClassOf(const absl::Status& reason);

class ErrorActions {
 public:
  // `error_class` is an index into kErrorClasses.
  void Set(size_t error_class, ErrorAction action) {
    actions_[error_class] = action;
  }
  ErrorAction Get(size_t error_class) const { return actions_[error_class]; }

  // `reason`: why the event cannot be delivered.
  ErrorAction For(const absl::Status& reason) const;

  bool Uses(ErrorAction action) const;
  // nullopt: no event is left out.
  std::optional<ErrorAction> FirstThatLeavesOut() const;

  // The same, for a sender that has no place for parked events: it stops.
  ErrorActions WithoutParking() const;

  friend bool operator==(const ErrorActions&, const ErrorActions&) = default;

 private:
  std::array<ErrorAction, kErrorClasses.size()> actions_{};
};

}  // namespace walpost
