#include "base/finding.h"

#include <gtest/gtest.h>

#include <vector>

namespace walpost {
namespace {

Finding Found(Severity severity, const char* subject) {
  return {severity, FindingId("some_cause"), subject, "text", ""};
}

TEST(FindingTest, FirstErrorPassesOverWhatIsOnlyAWarning) {
  const std::vector<Finding> findings = {
      Found(Severity::kOk, "server"), Found(Severity::kWarning, "table"),
      Found(Severity::kError, "slot"), Found(Severity::kError, "publication")};
  ASSERT_NE(FirstError(findings), nullptr);
  EXPECT_EQ(FirstError(findings)->subject, "slot");
}

TEST(FindingTest, FirstErrorIsNullWithoutErrors) {
  EXPECT_EQ(FirstError({}), nullptr);
  EXPECT_EQ(FirstError({Found(Severity::kWarning, "a")}), nullptr);
}

TEST(FindingTest, AnErrorHasTheIdOfItsCause) {
  const FindingId otherwise("check_failed");
  const absl::Status bare = absl::UnavailableError("no answer");
  EXPECT_EQ(FindingIdOf(bare, otherwise), otherwise);
  const absl::Status coded = WithReasonCode(bare, kReasonTableUnsuitable);
  EXPECT_EQ(FindingIdOf(coded, otherwise), FindingId("table_unsuitable"));
  const FindingId cause("table_missing");
  EXPECT_EQ(FindingIdOf(WithFindingId(coded, cause), otherwise), cause);
  EXPECT_TRUE(WithFindingId(absl::OkStatus(), cause).ok());
}

}  // namespace
}  // namespace walpost
