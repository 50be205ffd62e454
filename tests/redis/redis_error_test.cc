#include "redis/redis_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason_code.h"

namespace walpost {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Remedy = RedisError::Remedy;

struct Case {
  const char* error;
  Remedy remedy;
  absl::StatusCode code;
};

TEST(RedisErrorTest, HasARemedyForEach) {
  const Case cases[] = {
      {"OOM command not allowed when used memory > 'maxmemory'.",
       Remedy::kRetry, absl::StatusCode::kUnavailable},
      {"MISCONF Redis is configured to save RDB snapshots", Remedy::kRetry,
       absl::StatusCode::kUnavailable},
      {"NOREPLICAS Not enough good replicas to write.", Remedy::kRetry,
       absl::StatusCode::kUnavailable},
      {"READONLY You can't write against a read only replica.",
       Remedy::kReconnect, absl::StatusCode::kUnavailable},
      {"UNBLOCKED force unblock from blocking operation", Remedy::kReconnect,
       absl::StatusCode::kUnavailable},
      {"NOSCRIPT No matching script.", Remedy::kNoScript,
       absl::StatusCode::kAborted},
      {"NOPERM this user has no permissions", Remedy::kRefused,
       absl::StatusCode::kFailedPrecondition},
      {"ERR The user executing the script can't run this command or subcommand",
       Remedy::kRefused, absl::StatusCode::kFailedPrecondition},
      {"WRONGTYPE Operation against a key holding the wrong kind of value",
       Remedy::kRefused, absl::StatusCode::kFailedPrecondition},
      {"ERR Elements are too large to be stored", Remedy::kRefused,
       absl::StatusCode::kInvalidArgument},
      {"ERR something new", Remedy::kRefused,
       absl::StatusCode::kFailedPrecondition},
  };
  for (const Case& c : cases) {
    const RedisError error = ClassifyRedisError(c.error, "adding");
    EXPECT_EQ(error.remedy, c.remedy) << c.error;
    EXPECT_EQ(error.status.code(), c.code) << c.error;
    EXPECT_THAT(std::string(error.status.message()),
                HasSubstr(std::string("adding: ") + c.error));
    EXPECT_FALSE(error.is_of_credentials);
  }
}

std::string HintFor(const char* error, const RedisGrant& grant) {
  return std::string(ClassifyRedisError(error, "x", grant).status.message());
}

TEST(RedisErrorTest, RightsAreThoseOfTheUserTheStreamAndTheServer) {
  using Server = RedisGrant::Server;
  const char* const denied = "NOPERM this user has no permissions";
  const std::string alone = HintFor(denied, {"relay", "orders"});
  EXPECT_THAT(alone, HasSubstr("; ACL SETUSER relay ~orders +@connection"));
  EXPECT_THAT(alone, Not(HasSubstr("+cluster")));
  EXPECT_THAT(HintFor(denied, {"relay", "", Server::kClusterNode}),
              AllOf(HasSubstr("ACL SETUSER relay +@connection"),
                    HasSubstr("+cluster|info +cluster|slots")));
  EXPECT_THAT(HintFor(denied, {"watch", "", Server::kSentinel}),
              HasSubstr("ACL SETUSER watch +@connection +sentinel|get-master"));
  EXPECT_THAT(HintFor("ERR ACL failure in script: no", {"relay", "orders"}),
              HasSubstr("; ACL SETUSER relay ~orders +xadd"));
}

TEST(RedisErrorTest, AServerThatIsNotASentinelIsNamed) {
  EXPECT_THAT(HintFor("ERR unknown command 'SENTINEL', with args beginning "
                      "with: 'GET-MASTER-ADDR-BY-NAME'",
                      {}),
              HasSubstr("not a Sentinel: name it in redis.address"));
}

TEST(RedisErrorTest, KnowsWhenAPasswordIsWrong) {
  for (const char* text :
       {"WRONGPASS invalid username-password pair",
        "NOAUTH Authentication required.",
        "ERR AUTH <password> called without any password configured"}) {
    EXPECT_TRUE(ClassifyRedisError(text, "AUTH").is_of_credentials) << text;
  }
}

}  // namespace
}  // namespace walpost
