#include "outbox/claim_check.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost {
namespace {

TEST(ClaimCheckTest, IsReadBackAsItWasWritten) {
  const ClaimCheck made =
      MakeClaimCheck(R"(public."Out box")", "a\"b\n\xc3\xa9", "payload");
  const auto read = ParseClaimCheck(ToJson(made));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->table, R"(public."Out box")");
  EXPECT_EQ(read->id, "a\"b\n\xc3\xa9");
  EXPECT_EQ(read->bytes, 7u);
  EXPECT_EQ(read->sha256, Sha256("payload"));
}

TEST(ClaimCheckTest, AnIdThatIsNotUtf8IsStillJson) {
  const auto read = ParseClaimCheck(ToJson(MakeClaimCheck("t", "a\xff", "")));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->id, "a?");
}

TEST(ClaimCheckTest, OtherTextsAreNotClaimChecks) {
  const std::string digest(64, 'a');
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("{}"),
        R"({"bytes": -1, "sha256": ")" + digest + R"("})",
        R"({"bytes": 1.5, "sha256": ")" + digest + R"("})",
        R"({"bytes": 1, "sha256": ")" + digest + R"(00"})",
        R"({"bytes": 1, "sha256": ")" + digest.substr(1) + R"("})",
        R"({"bytes": 1, "sha256": ")" + digest.substr(1) + R"(g"})"}) {
    EXPECT_EQ(ParseClaimCheck(text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

}  // namespace
}  // namespace walpost
