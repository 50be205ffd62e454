#include "delivery/verdict.h"

#include <algorithm>
#include <iterator>

namespace walpost {
namespace {

struct VerdictRow {
  absl::StatusCode code;
  Verdict by_position;
  Verdict by_row;
};

constexpr VerdictRow kVerdicts[] = {
    {absl::StatusCode::kOk, Verdict::kSent, Verdict::kSent},
    {absl::StatusCode::kResourceExhausted, Verdict::kHold, Verdict::kHold},
    {absl::StatusCode::kUnavailable, Verdict::kHold, Verdict::kRefuse},
    {absl::StatusCode::kAborted, Verdict::kReplaceSink, Verdict::kReplaceSink},
    {absl::StatusCode::kInvalidArgument, Verdict::kRefuse, Verdict::kRefuse},
};
constexpr VerdictRow kAnyOther = {absl::StatusCode::kUnknown, Verdict::kRefuse,
                                  Verdict::kReplaceSink};

}  // namespace

Verdict JudgeError(const absl::Status& error, Ordering ordering) {
  const auto* row =
      std::ranges::find(kVerdicts, error.code(), &VerdictRow::code);
  if (row == std::end(kVerdicts)) row = &kAnyOther;
  return ordering == Ordering::kByRow ? row->by_row : row->by_position;
}

}  // namespace walpost
