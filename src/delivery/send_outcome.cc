#include "delivery/send_outcome.h"

#include <algorithm>
#include <iterator>

namespace walpost {
namespace {

struct OutcomeRow {
  absl::StatusCode code;
  SendOutcome by_position;
  SendOutcome by_row;
};

using Outcome = SendOutcome;

constexpr OutcomeRow kOutcomes[] = {
    {absl::StatusCode::kOk, Outcome::kSent, Outcome::kSent},
    {absl::StatusCode::kResourceExhausted, Outcome::kBackpressure,
     Outcome::kBackpressure},
    {absl::StatusCode::kUnavailable, Outcome::kBackpressure, Outcome::kRefuse},
    {absl::StatusCode::kDeadlineExceeded, Outcome::kBackpressure,
     Outcome::kBackpressure},
    {absl::StatusCode::kAborted, Outcome::kReplaceSink, Outcome::kReplaceSink},
    {absl::StatusCode::kInvalidArgument, Outcome::kRefuse, Outcome::kRefuse},
};
constexpr OutcomeRow kAnyOther = {absl::StatusCode::kUnknown, Outcome::kRefuse,
                                  Outcome::kReplaceSink};

}  // namespace

bool IsOfTopic(const absl::Status& error) {
  return absl::IsUnavailable(error) || absl::IsDeadlineExceeded(error);
}

SendOutcome JudgeError(const absl::Status& error, Ordering ordering) {
  const auto* row =
      std::ranges::find(kOutcomes, error.code(), &OutcomeRow::code);
  if (row == std::end(kOutcomes)) row = &kAnyOther;
  return ordering == Ordering::kByRow ? row->by_row : row->by_position;
}

}  // namespace walpost
