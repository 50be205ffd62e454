#include "redis/redis_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason_code.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
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
