// FindingId: the cause of a finding in one word, for programs: "slot_lost".
//
// The same cause has the same id, whatever its severity, names and numbers;
// another cause has another id. If the cause has a reason code
// (base/reason_code.h), that is its id. docs/checks.md lists all; a released id
// keeps its meaning.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "base/reason_code.h"

namespace walpost {

// Ids of causes that more than one place finds.
inline constexpr char kFindingTableMissing[] = "table_missing";
inline constexpr char kFindingBirthRecordNotWritable[] =
    "birth_record_not_writable";
inline constexpr char kFindingConninfoInvalid[] = "conninfo_invalid";
inline constexpr char kFindingCredentialsRejected[] = "credentials_rejected";
inline constexpr char kFindingKafkaUnavailable[] = "kafka_unavailable";
inline constexpr char kFindingKafkaPropertyInvalid[] = "kafka_property_invalid";

class FindingId {
 public:
  // snake_case.
  explicit FindingId(std::string_view text) : text_(text) {}

  const std::string& text() const { return text_; }

  friend bool operator==(const FindingId&, const FindingId&) = default;

 private:
  std::string text_;
};

inline constexpr char kFindingIdUrl[] = "walpost/finding_id";

// For an error that `walpost check` reports as a finding.
inline absl::Status WithFindingId(absl::Status status, const FindingId& id) {
  status.SetPayload(kFindingIdUrl, absl::Cord(id.text()));
  return status;
}

// The attached id, else the reason code, else `otherwise`.
inline FindingId FindingIdOf(const absl::Status& status, FindingId otherwise) {
  if (const auto id = status.GetPayload(kFindingIdUrl)) {
    return FindingId(std::string(*id));
  }
  const std::string reason_code = ReasonCodeOf(status);
  return reason_code.empty() ? otherwise : FindingId(reason_code);
}

}  // namespace walpost
