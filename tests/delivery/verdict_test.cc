#include "delivery/verdict.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

Verdict InOrder(absl::StatusCode code) {
  return JudgeError(absl::Status(code, "why"), Ordering::kByPosition);
}
Verdict ByRow(absl::StatusCode code) {
  return JudgeError(absl::Status(code, "why"), Ordering::kByRow);
}

TEST(VerdictTest, NoErrorIsSent) {
  EXPECT_EQ(JudgeError(absl::OkStatus(), Ordering::kByPosition),
            Verdict::kSent);
  EXPECT_EQ(JudgeError(absl::OkStatus(), Ordering::kByRow), Verdict::kSent);
}

TEST(VerdictTest, AFullSinkHolds) {
  EXPECT_EQ(InOrder(absl::StatusCode::kResourceExhausted), Verdict::kHold);
  EXPECT_EQ(ByRow(absl::StatusCode::kResourceExhausted), Verdict::kHold);
}

TEST(VerdictTest, AnUnknownTopicHoldsTheFlowButIsTheTroubleOfItsRow) {
  EXPECT_EQ(InOrder(absl::StatusCode::kUnavailable), Verdict::kHold);
  EXPECT_EQ(ByRow(absl::StatusCode::kUnavailable), Verdict::kRefuse);
}

TEST(VerdictTest, AFailedSinkIsReplaced) {
  EXPECT_EQ(InOrder(absl::StatusCode::kAborted), Verdict::kReplaceSink);
  EXPECT_EQ(ByRow(absl::StatusCode::kAborted), Verdict::kReplaceSink);
}

TEST(VerdictTest, AnEventThatCannotGoOutIsRefused) {
  EXPECT_EQ(InOrder(absl::StatusCode::kInvalidArgument), Verdict::kRefuse);
  EXPECT_EQ(ByRow(absl::StatusCode::kInvalidArgument), Verdict::kRefuse);
}

// Nothing overtakes it, and it is not a row's fault.
TEST(VerdictTest, P8AnyOtherErrorStopsTheFlowAndRefusesNoRow) {
  for (const absl::StatusCode code :
       {absl::StatusCode::kFailedPrecondition, absl::StatusCode::kInternal,
        absl::StatusCode::kDataLoss, absl::StatusCode::kPermissionDenied}) {
    EXPECT_EQ(InOrder(code), Verdict::kRefuse) << code;
    EXPECT_EQ(ByRow(code), Verdict::kReplaceSink) << code;
  }
}

}  // namespace
}  // namespace walpost
