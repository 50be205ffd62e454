#include "rabbitmq/rabbitmq_check.h"

#include <gtest/gtest.h>

#include <string>

#include "rabbitmq/rabbitmq_server.h"
#include "support/finding_text.h"

namespace walpost {
namespace {

using std::chrono::seconds;

bool Has(const SinkFindings& found, std::string_view id, Severity severity) {
  for (const Finding& finding : found.findings) {
    if (finding.id.text() == id && finding.severity == severity) return true;
  }
  return false;
}

TEST(RabbitmqCheckTest, ANodeThatIsNotThereIsAnError) {
  RabbitmqOptions options;
  options.nodes = "127.0.0.1:1";
  const auto found = CheckRabbitmq(options, {}, seconds(5));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->answers);
  EXPECT_TRUE(Has(*found, "rabbitmq_unavailable", Severity::kError));
}

TEST(RabbitmqCheckTest, FindsTheClusterBehindANodeThatIsDown) {
  RabbitmqOptions options;
  options.nodes = "127.0.0.1:1," + testing::SharedRabbitmq().address();
  const auto found = CheckRabbitmq(
      options, {{.prefix = "none", .is_whole = true}}, seconds(20));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->answers)
      << ::testing::PrintToString(testing::TextsOf(found->findings));
  EXPECT_NE(found->cluster_id, "");
  EXPECT_TRUE(Has(*found, "rabbitmq_unavailable", Severity::kWarning));
  EXPECT_TRUE(Has(*found, "rabbitmq_ok", Severity::kOk));
  EXPECT_TRUE(Has(*found, "queue_missing", Severity::kError));
}

// After events were published, a new name makes the cluster another one.
TEST(RabbitmqCheckTest, TheNoteAboutTheNameSaysWhatMustFollow) {
  RabbitmqOptions options;
  options.nodes = testing::SharedRabbitmq().address();
  const auto found = CheckRabbitmq(options, {}, seconds(20));
  ASSERT_TRUE(found.ok()) << found.status();
  for (const Finding& finding : found->findings) {
    if (finding.id.text() != "cluster_name_not_set") continue;
    EXPECT_NE(finding.remedy.find("walpost recover -c FILE --accept"),
              std::string::npos);
    return;
  }
  FAIL() << ::testing::PrintToString(testing::TextsOf(found->findings));
}

TEST(RabbitmqCheckTest, AWrongPasswordIsNamed) {
  RabbitmqOptions options;
  options.nodes = testing::SharedRabbitmq().address();
  options.password = "wrong";
  const auto found = CheckRabbitmq(options, {}, seconds(20));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(Has(*found, "credentials_rejected", Severity::kError));
}

}  // namespace
}  // namespace walpost
