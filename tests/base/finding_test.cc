#include "base/finding.h"

#include <gtest/gtest.h>

#include <vector>

namespace walpost {
namespace {

TEST(FindingTest, FirstErrorPassesOverWhatIsOnlyAWarning) {
  const std::vector<Finding> findings = {
      {Severity::kOk, "server", "17.2", ""},
      {Severity::kWarning, "table", "no key", ""},
      {Severity::kError, "slot", "missing", "walpost init"},
      {Severity::kError, "publication", "missing", "walpost init"},
  };
  ASSERT_NE(FirstError(findings), nullptr);
  EXPECT_EQ(FirstError(findings)->subject, "slot");
}

TEST(FindingTest, FirstErrorIsNullWithoutErrors) {
  EXPECT_EQ(FirstError({}), nullptr);
  EXPECT_EQ(FirstError({{Severity::kWarning, "a", "b", ""}}), nullptr);
}

}  // namespace
}  // namespace walpost
