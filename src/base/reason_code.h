// Reason codes: why an event cannot be delivered, in one word for machines.
//
// A code is attached to its absl::Status from the place of the error to where
// it is shown (/status, walpost_stopped, the log). docs/states.md lists
// them; a released code keeps its meaning.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/cord.h"

namespace walpost {

// For rows and messages, before they become records.
inline constexpr char kReasonTopicFieldMissing[] = "topic_field_missing";
inline constexpr char kReasonTopicIllegal[] = "topic_illegal";
inline constexpr char kReasonPartitionIllegal[] = "partition_illegal";
inline constexpr char kReasonTooManyTopics[] = "too_many_topics";
inline constexpr char kReasonHeadersUnreadable[] = "headers_unreadable";
inline constexpr char kReasonMessageUnreadable[] = "message_unreadable";
inline constexpr char kReasonPayloadMissing[] = "payload_missing";
inline constexpr char kReasonColumnUnreadable[] = "column_unreadable";
inline constexpr char kReasonTextNotUtf8[] = "text_not_utf8";
inline constexpr char kReasonConversionFailed[] = "conversion_failed";
// Reasons whose row could not be read whole.
inline constexpr std::array<std::string_view, 5> kUnreadableReasons = {
    kReasonMessageUnreadable, kReasonPayloadMissing,   kReasonColumnUnreadable,
    kReasonTextNotUtf8,       kReasonConversionFailed,
};
inline constexpr char kReasonTableUnsuitable[] = "table_unsuitable";
// For records, from the brokers.
inline constexpr char kReasonRecordTooLarge[] = "record_too_large";
inline constexpr char kReasonRecordRefused[] = "record_refused";
inline constexpr char kReasonUnroutable[] = "unroutable";

// For the producer.
inline constexpr char kReasonFenced[] = "fenced";
inline constexpr char kReasonTransactionTooLarge[] = "transaction_too_large";

// For the source.
inline constexpr char kReasonPublicationMissing[] = "publication_missing";

// For the resume point; the names of gaps are in delivery/gap.h.
inline constexpr char kReasonCheckpointUnreadable[] = "checkpoint_unreadable";
inline constexpr char kReasonCheckpointOfAnotherSlot[] =
    "checkpoint_of_another_slot";

// For the table of parked events and dead letters.
inline constexpr char kReasonParkedTableMissing[] = "parked_table_missing";
inline constexpr char kReasonParkedEventDiffers[] = "parked_event_differs";

inline constexpr char kReasonCodeUrl[] = "walpost/reason_code";

inline absl::Status WithReasonCode(absl::Status status, std::string_view code) {
  status.SetPayload(kReasonCodeUrl, absl::Cord(std::string(code)));
  return status;
}

// The event cannot be delivered as it is (kInvalidArgument).
inline absl::Status Undeliverable(std::string_view code,
                                  const std::string& message) {
  return WithReasonCode(absl::InvalidArgumentError(message), code);
}

// Empty: the status has none.
inline std::string ReasonCodeOf(const absl::Status& status) {
  const auto code = status.GetPayload(kReasonCodeUrl);
  return code ? std::string(*code) : std::string();
}

}  // namespace walpost
