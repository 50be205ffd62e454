// DeadLetterResolution: what an operator has done about a dead letter, on
// record.
//
// A record of the dead-letter topic, in the partition of the dead letter and
// with its key, without a value:
//
//   walpost-decision            retried or discarded
//   walpost-decision-offset     offset of the dead letter
//   walpost-decision-by, -why   who, and the reason
//   id                          as in the dead letter
//
// Its timestamp is the time of the decision. It holds for this dead letter and
// for earlier ones of the same event in the partition. Pure data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "outbox/record.h"

namespace walpost {

inline constexpr std::string_view kDecisionHeader = "walpost-decision";

struct DeadLetterResolution {
  enum class Action { kRetried, kDiscarded };
  Action action = Action::kDiscarded;
  int64_t offset = 0;
  std::string by;
  std::string why;
  WallTime at;
};

// As in the header.
std::string_view ToString(DeadLetterResolution::Action action);

// nullopt: the record is no decision. kInvalidArgument: it is one that this
// release cannot read.
absl::StatusOr<std::optional<DeadLetterResolution>> ReadLetterDecision(
    const Record& record);

// A decision as a record. Owns what the record views.
class DeadLetterResolutionRecord {
 public:
  // `key` and `id`: of the dead letter; they outlive this object.
  DeadLetterResolutionRecord(const DeadLetterResolution& decision,
                             std::string_view topic, Value key, Value id);
  DeadLetterResolutionRecord(const DeadLetterResolutionRecord&) = delete;
  DeadLetterResolutionRecord& operator=(const DeadLetterResolutionRecord&) =
      delete;

  const Record& record() const { return record_; }

 private:
  std::string topic_;
  std::string offset_;
  std::string by_;
  std::string why_;
  std::vector<RecordHeader> headers_;
  Record record_;
};

}  // namespace walpost
