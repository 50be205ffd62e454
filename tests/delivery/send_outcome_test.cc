#include "delivery/send_outcome.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

SendOutcome InOrder(absl::StatusCode code) {
  return JudgeError(absl::Status(code, "why"), Ordering::kByPosition);
}
SendOutcome ByRow(absl::StatusCode code) {
  return JudgeError(absl::Status(code, "why"), Ordering::kByRow);
}

TEST(SendOutcomeTest, NoErrorIsSent) {
  EXPECT_EQ(JudgeError(absl::OkStatus(), Ordering::kByPosition),
            SendOutcome::kSent);
  EXPECT_EQ(JudgeError(absl::OkStatus(), Ordering::kByRow), SendOutcome::kSent);
}

TEST(SendOutcomeTest, AFullSinkHolds) {
  EXPECT_EQ(InOrder(absl::StatusCode::kResourceExhausted),
            SendOutcome::kBackpressure);
  EXPECT_EQ(ByRow(absl::StatusCode::kResourceExhausted),
            SendOutcome::kBackpressure);
}

TEST(SendOutcomeTest, AnUnknownTopicHoldsTheFlowButIsTheTroubleOfItsRow) {
  EXPECT_EQ(InOrder(absl::StatusCode::kUnavailable),
            SendOutcome::kBackpressure);
  EXPECT_EQ(ByRow(absl::StatusCode::kUnavailable), SendOutcome::kRefuse);
}

TEST(SendOutcomeTest, ServersThatDoNotAnswerAreNoRowsTrouble) {
  EXPECT_EQ(InOrder(absl::StatusCode::kDeadlineExceeded),
            SendOutcome::kBackpressure);
  EXPECT_EQ(ByRow(absl::StatusCode::kDeadlineExceeded),
            SendOutcome::kBackpressure);
}

TEST(SendOutcomeTest, AnErrorOfATopicLeavesOthersAlone) {
  EXPECT_TRUE(IsOfTopic(absl::UnavailableError("unknown")));
  EXPECT_TRUE(IsOfTopic(absl::DeadlineExceededError("no leader")));
  EXPECT_FALSE(IsOfTopic(absl::ResourceExhaustedError("full")));
  EXPECT_FALSE(IsOfTopic(absl::OkStatus()));
}

TEST(SendOutcomeTest, AFailedSinkIsReplaced) {
  EXPECT_EQ(InOrder(absl::StatusCode::kAborted), SendOutcome::kReplaceSink);
  EXPECT_EQ(ByRow(absl::StatusCode::kAborted), SendOutcome::kReplaceSink);
}

TEST(SendOutcomeTest, AnEventThatCannotGoOutIsRefused) {
  EXPECT_EQ(InOrder(absl::StatusCode::kInvalidArgument), SendOutcome::kRefuse);
  EXPECT_EQ(ByRow(absl::StatusCode::kInvalidArgument), SendOutcome::kRefuse);
}

// Nothing overtakes it, and it is not a row's fault.
TEST(SendOutcomeTest, P8AnyOtherErrorStopsTheFlowAndRefusesNoRow) {
  for (const absl::StatusCode code :
       {absl::StatusCode::kFailedPrecondition, absl::StatusCode::kInternal,
        absl::StatusCode::kDataLoss, absl::StatusCode::kPermissionDenied}) {
    EXPECT_EQ(InOrder(code), SendOutcome::kRefuse) << code;
    EXPECT_EQ(ByRow(code), SendOutcome::kReplaceSink) << code;
  }
}

}  // namespace
}  // namespace walpost
