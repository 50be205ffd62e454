#include "base/bearer_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

// 2026-11-28 09:34:26, when kMsk was signed.
constexpr WallTime kNow{seconds(1'795'858'466)};

std::string Encoded(std::string_view text) {
  return absl::WebSafeBase64Escape(absl::string_view(text.data(), text.size()));
}

// A JSON web token with these claims.
std::string Jwt(std::string_view claims) {
  return Encoded(R"({"alg":"RS256"})") + "." + Encoded(claims) +
         ".c2lnbmF0dXJl";
}

std::string JwtUntil(WallTime end) {
  return Jwt(R"({"sub":"walpost","exp":)" +
             std::to_string(end.time_since_epoch() / seconds(1)) + "}");
}

std::string SignedUrl(std::string_view date, std::string_view lifetime) {
  return Encoded(
      "https://kafka.eu-west-1.amazonaws.com/?Action=kafka-cluster%3AConnect"
      "&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=" +
      std::string(date) + "&X-Amz-Expires=" + std::string(lifetime) +
      "&X-Amz-SignedHeaders=host&X-Amz-Signature=00&User-Agent=test");
}

// Printed by `aws_msk_get_auth_token --region eu-west-1` (package
// aws-msk-iam-sasl-signer-python 1.0.2) with AWS' example of a key.
constexpr std::string_view kMsk =
    "aHR0cHM6Ly9rYWZrYS5ldS13ZXN0LTEuYW1hem9uYXdzLmNvbS8_"
    "QWN0aW9uPWthZmthLWNsdXN0ZXIlM0FDb25uZWN0JlgtQW16LUFsZ29yaXRobT1BV1M0LUhN"
    "QUMtU0hBMjU2JlgtQW16LUNyZWRlbnRpYWw9QUtJQUlPU0ZPRE5ON0VYQU1QTEUlMkYyMDI2"
    "MTEyOCUyRmV1LXdlc3QtMSUyRmthZmthLWNsdXN0ZXIlMkZhd3M0X3JlcXVlc3QmWC1BbXot"
    "RGF0ZT0yMDI2MTEyOFQwOTM0MjZaJlgtQW16LUV4cGlyZXM9OTAwJlgtQW16LVNpZ25lZEhl"
    "YWRlcnM9aG9zdCZYLUFtei1TaWduYXR1cmU9NGYzZTNjMGRmY2ZiOGJiNTc2MmIxODYxYmM0"
    "OWM5MWQyYThjNGVjOTRhZTYxMDM3NmYzOWFjNTIwZDdkNmNjYiZVc2VyLUFnZW50PWF3cy1t"
    "c2staWFtLXNhc2wtc2lnbmVyLXB5dGhvbiUyRjEuMC4y";

TEST(BearerTokenTest, ReadsTheEndOfAJsonWebToken) {
  const std::string printed = JwtUntil(kNow + seconds(600));
  const absl::StatusOr<BearerToken> token =
      ParseBearerToken(" \n" + printed + "\r\n", kNow);
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ(token->value, printed);
  EXPECT_EQ(token->expires_at, kNow + seconds(600));
  EXPECT_EQ(token->principal, "walpost");
  EXPECT_THAT(token->extensions, IsEmpty());
}

TEST(BearerTokenTest, ReadsTheEndOfATokenOfAmazonMsk) {
  for (const std::string& printed :
       {std::string(kMsk), "('" + std::string(kMsk) + "', 1795859366000)",
        R"({"token": ")" + std::string(kMsk) +
            R"(", "expiration_ms": 1795859366000})"}) {
    const absl::StatusOr<BearerToken> token = ParseBearerToken(printed, kNow);
    ASSERT_TRUE(token.ok()) << token.status();
    EXPECT_EQ(token->value, kMsk);
    EXPECT_EQ(token->expires_at, WallTime(milliseconds(1'795'859'366'000)));
  }
}

TEST(BearerTokenTest, ReadsTheAnswersOfEndpoints) {
  const struct {
    const char* printed;
    WallTime expires_at;
  } kRows[] = {
      {R"({"access_token":"a","token_type":"Bearer","expires_in":3599})",
       kNow + seconds(3'599)},
      {R"({"access_token":"a","expires_in":"3599","expires_on":"1795858476"})",
       kNow + seconds(10)},
      {R"({"accessToken":"a","expiresOn":"2026-11-28 09:34:36.000000",
           "expires_on":1795858476,"tenant":"t"})",
       kNow + seconds(10)},
      {R"({"token":"a","expires_at":1795858476})", kNow + seconds(10)},
      {R"({"token":"a","expires_at":1795858476.7})", kNow + seconds(10)},
      {R"({"token":"a","expires_at":1795858476000})", kNow + seconds(10)},
      {R"({"token":"a","expirationMs":1795858476000})", kNow + seconds(10)},
      {R"({"token":"a","expires_in":60,"expires_at":null})",
       kNow + seconds(60)},
  };
  for (const auto& row : kRows) {
    const absl::StatusOr<BearerToken> token =
        ParseBearerToken(row.printed, kNow);
    ASSERT_TRUE(token.ok()) << row.printed << token.status();
    EXPECT_EQ(token->value, "a");
    EXPECT_EQ(token->expires_at, row.expires_at) << row.printed;
    EXPECT_EQ(token->principal, "");
  }
}

TEST(BearerTokenTest, TheEarliestEndCounts) {
  const std::string jwt = JwtUntil(kNow + seconds(100));
  for (const auto& [lifetime, expected] : {std::pair(50, 50), {200, 100}}) {
    const auto token =
        ParseBearerToken(R"({"access_token":")" + jwt + R"(","expires_in":)" +
                             std::to_string(lifetime) + "}",
                         kNow);
    ASSERT_TRUE(token.ok()) << token.status();
    EXPECT_EQ(token->expires_at, kNow + seconds(expected));
  }
}

TEST(BearerTokenTest, TakesPrincipalAndExtensions) {
  const auto token = ParseBearerToken(
      R"({"access_token":")" + JwtUntil(kNow + seconds(9)) +
          R"(","principal":"me","extensions":{"logicalCluster":"lkc-1",
             "identityPoolId":"pool-1"}})",
      kNow);
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ(token->principal, "me");
  EXPECT_THAT(token->extensions, ElementsAre(Pair("logicalCluster", "lkc-1"),
                                             Pair("identityPoolId", "pool-1")));
}

TEST(BearerTokenTest, SaysWhatIsWrongAndQuotesNothing) {
  const std::string end = R"(","expires_in":60})";
  const struct {
    std::string printed;
    const char* says;
  } kRows[] = {
      {"", "not a token"},
      {"s3cr3t s3cr3t", "not a token"},
      {"Bearer s3cr3t", "not a token"},
      {"s3cr3t\ns3cr3t", "not a token"},
      {"s3cr3t\x01", "not a token"},
      {"s3cr3t\xc3\xa4", "not a token"},
      {"<html>s3cr3t</html>", "not a token"},
      {"===", "not a token"},
      {"('s3cr3t s', 1)", "not a token"},
      {"s3cr3t", "without saying when it expires"},
      {"('s3cr3t', 1795859366000)", "without saying when it expires"},
      {"s3cr3t.s3cr3t.s3cr3t", "without saying when it expires"},
      {Jwt("{}"), "without saying when it expires"},
      {Jwt("[1]"), "without saying when it expires"},
      {Jwt(R"({"exp":"soon"})"), "without saying when it expires"},
      {Jwt(R"({"exp":-1})"), "without saying when it expires"},
      {Jwt(R"({"exp":1e300})"), "without saying when it expires"},
      {SignedUrl("20261128T093426", "900"), "without saying when it expires"},
      {SignedUrl("20261328T093426Z", "900"), "without saying when it expires"},
      {SignedUrl("-0261128T093426Z", "900"), "without saying when it expires"},
      {SignedUrl("20261128T093426Z", ""), "without saying when it expires"},
      {SignedUrl("20261128T093426Z", "-1"), "without saying when it expires"},
      {SignedUrl("20261128T093426Z", "1e99"), "without saying when it expires"},
      {SignedUrl("20261128T091426Z", "900"), "expired 300 s ago"},
      {JwtUntil(kNow), "expired 0 s ago"},
      {JwtUntil(kNow - seconds(5)), "expired 5 s ago"},
      {R"({"access_token":"s3cr3t","expires_in":0})", "expired 0 s ago"},
      {R"({"access_token":"s3cr3t","expires_in":-7})", "expired 7 s ago"},
      {R"({"access_token":"s3cr3t")", "JSON that does not parse"},
      {R"({"access_token":"s3cr3t)" + end + "}", "JSON that does not parse"},
      {R"({"a":)" + std::string(60'000, '['), "JSON that does not parse"},
      {"{}", "JSON without access_token"},
      {R"({"error":"s3cr3t"})", "JSON without access_token"},
      {R"({"access_token":")" + end, "JSON without access_token"},
      {R"({"access_token":7,"expires_in":60})", "that is not a text"},
      {R"({"access_token":"s3 cr3t)" + end, "not a token"},
      {R"({"access_token":"s3cr3t\u0000)" + end, "not a token"},
      {R"({"access_token":"s3cr3t"})", "without saying when it expires"},
      {R"({"access_token":"s3cr3t","expires_in":"s3cr3t"})",
       "an expires_in that is not a number"},
      {R"({"access_token":"s3cr3t","expires_in":1e300})",
       "an expires_in that is not a number"},
      {R"({"access_token":"s3cr3t","expires_in":"nan"})",
       "an expires_in that is not a number"},
      {R"({"access_token":"s3cr3t","expires_at":-1})",
       "an expires_at that is not a number"},
      {R"({"access_token":"s3cr3t","expires_at":[]})",
       "an expires_at that is not a number"},
      {R"({"access_token":"s3cr3t","extensions":[])" + end.substr(1),
       "`extensions` that are not"},
      {R"({"access_token":"s3cr3t","extensions":{"a1":"b"})" + end.substr(1),
       "`extensions` that are not"},
      {R"({"access_token":"s3cr3t","extensions":{"auth":"b"})" + end.substr(1),
       "`extensions` that are not"},
      {R"({"access_token":"s3cr3t","extensions":{"a":"\n"})" + end.substr(1),
       "`extensions` that are not"},
  };
  for (const auto& row : kRows) {
    const absl::Status status = ParseBearerToken(row.printed, kNow).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << row.printed;
    const std::string said(status.message());
    EXPECT_TRUE(said.starts_with("printed ")) << said;
    EXPECT_THAT(said, HasSubstr(row.says)) << row.printed;
    EXPECT_THAT(said, Not(HasSubstr("s3cr3t")));
  }
}

TEST(BearerTokenTest, AStrangePrincipalIsLeftOut) {
  for (const char* subject :
       {R"("a b")", R"("\n")", "7", "null", R"("\u00e4")"}) {
    const auto token = ParseBearerToken(
        Jwt(R"({"exp":1795858476,"sub":)" + std::string(subject) + "}"), kNow);
    ASSERT_TRUE(token.ok()) << subject << token.status();
    EXPECT_EQ(token->principal, "");
  }
}

// No part, and no change of a byte, does harm; what is a token still has
// characters of one, and an end in the future.
TEST(BearerTokenTest, DamagedOutputGivesATokenOrAnError) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const std::string& whole :
       {std::string(kMsk), "('" + std::string(kMsk) + "', 1795859366000)",
        JwtUntil(kNow + seconds(60)),
        std::string(
            R"({"access_token":"abc","expires_in":"60","principal":"p",)"
            R"("expires_on":1795859366,"extensions":{"a":"b"}})")}) {
    for (size_t i = 0; i < whole.size(); ++i) {
      std::string changed = whole;
      changed[i] = static_cast<char>(random());
      for (const std::string& printed : {whole.substr(0, i), changed}) {
        const auto token = ParseBearerToken(printed, kNow);
        if (!token.ok()) continue;
        EXPECT_GT(token->expires_at, kNow);
        EXPECT_EQ(token->value.find_first_of(" \n'\"\\"), std::string::npos);
      }
    }
  }
}

}  // namespace
}  // namespace walpost
