#include "redis/durable_replies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

using ::testing::HasSubstr;

std::vector<Reply> RepliesOf(std::string_view bytes) {
  ReplyReader reader;
  EXPECT_TRUE(reader.Feed(bytes).ok());
  std::vector<Reply> replies;
  for (;;) {
    auto next = reader.Next();
    if (!next.ok() || !*next) return replies;
    replies.push_back(**std::move(next));
  }
}

RedisFacts Version(int minor, const char* fsync) {
  RedisFacts facts;
  facts.major = 7;
  facts.minor = minor;
  facts.has_append_only_file = true;
  facts.append_fsync = fsync;
  return facts;
}

RedisOptions Replicas(size_t replicas) {
  RedisOptions options;
  options.replicas = replicas;
  return options;
}

TEST(DurableRepliesTest, AnAnswerIsEnoughIfTheServerSyncsBeforeIt) {
  EXPECT_EQ(WaitCommands({}, Version(0, "always")), "");
  EXPECT_EQ(WaitCommands({}, Version(2, "always")), "");
  EXPECT_TRUE(JudgeWaits({}, {}, "Redis").is_durable);
}

TEST(DurableRepliesTest, NewerServersAreAskedWhatIsSynced) {
  const RedisFacts facts = Version(2, "everysec");
  EXPECT_THAT(WaitCommands({}, facts), HasSubstr("WAITAOF"));
  EXPECT_EQ(CountWaits({}, facts), 1u);
  const auto judge = [](std::string_view bytes) {
    return JudgeWaits(RepliesOf(bytes), {}, "Redis");
  };
  EXPECT_TRUE(judge("*2\r\n:1\r\n:0\r\n").is_durable);
  const DurableReplies waiting = judge("*2\r\n:0\r\n:0\r\n");
  EXPECT_FALSE(waiting.is_durable);
  EXPECT_TRUE(waiting.error.ok());
  const DurableReplies off = judge(
      "-ERR WAITAOF cannot be used when numlocal is set but appendonly is "
      "disabled.\r\n");
  EXPECT_FALSE(off.is_durable);
  EXPECT_TRUE(absl::IsFailedPrecondition(off.error));
}

// P2: fewer replicas than configured acknowledge nothing.
TEST(DurableRepliesTest, P2FewerReplicasAreNotEnough) {
  EXPECT_EQ(CountWaits(Replicas(2), Version(0, "always")), 1u);
  const auto judge = [](std::string_view bytes) {
    return JudgeWaits(RepliesOf(bytes), Replicas(2), "Redis");
  };
  EXPECT_TRUE(judge(":2\r\n").is_durable);
  EXPECT_FALSE(judge(":1\r\n").is_durable);
  EXPECT_THAT(judge(":1\r\n").trouble, HasSubstr("1 of 2 replicas"));
  EXPECT_TRUE(absl::IsUnavailable(
      judge("-UNBLOCKED force unblock from blocking operation\r\n").error));
}

}  // namespace
}  // namespace walpost
