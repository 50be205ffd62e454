#include "redis/redis_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kInfo[] =
    "# Server\r\nredis_version:7.0.15\r\nloading:0\r\n# Replication\r\n"
    "role:master\r\nconnected_slaves:2\r\naof_enabled:1\r\nmaxmemory:0\r\n"
    "maxmemory_policy:noeviction\r\ncluster_enabled:0\r\n";

RedisFacts Good() {
  RedisFacts facts = RedisFacts::Of(kInfo);
  facts.AddConfig({"appendfsync", "always", "appendonly", "yes",
                   "no-appendfsync-on-rewrite", "no"});
  return facts;
}

std::vector<std::string> IdsOf(const RedisFacts& facts,
                               const RedisOptions& options = {}) {
  std::vector<std::string> ids;
  for (const Finding& finding : JudgeServer(facts, options, "Redis")) {
    const bool is_error = finding.severity == Severity::kError;
    ids.push_back((is_error ? "!" : "") + finding.id.text());
  }
  return ids;
}

TEST(RedisFactsTest, ReadsInfo) {
  const RedisFacts facts = RedisFacts::Of(kInfo);
  EXPECT_EQ(facts.version, "7.0.15");
  EXPECT_TRUE(facts.IsAtLeast(7, 0));
  EXPECT_FALSE(facts.IsAtLeast(7, 2));
  EXPECT_TRUE(facts.is_master);
  EXPECT_EQ(facts.replicas, 2u);
  EXPECT_TRUE(facts.has_append_only_file);
  EXPECT_FALSE(facts.append_fsync);
}

TEST(RedisFactsTest, ASentinelIsToldFromAReplica) {
  const RedisFacts facts =
      RedisFacts::Of("redis_version:7.0.15\r\nredis_mode:sentinel\r\n");
  EXPECT_THAT(IdsOf(facts), ElementsAre("!redis_is_sentinel"));
}

TEST(RedisFactsTest, AServerThatSyncsIsGood) {
  EXPECT_THAT(IdsOf(Good()), IsEmpty());
}

TEST(RedisFactsTest, P1WithoutSyncItIsRefused) {
  RedisFacts facts = Good();
  facts.append_fsync = "everysec";
  EXPECT_THAT(IdsOf(facts), ElementsAre("!redis_not_durable"));
  facts = Good();
  facts.skips_fsync_on_rewrite = "yes";
  EXPECT_THAT(IdsOf(facts), ElementsAre("!redis_not_durable"));
  facts = Good();
  facts.has_append_only_file = false;
  EXPECT_THAT(IdsOf(facts), ElementsAre("!redis_not_durable"));
  facts = RedisFacts::Of(kInfo);  // CONFIG is not permitted
  EXPECT_THAT(IdsOf(facts), ElementsAre("!redis_not_durable"));
}

// WAITAOF tells whatever the setting is.
TEST(RedisFactsTest, NewerServersNeedOnlyTheFile) {
  RedisFacts facts = RedisFacts::Of(kInfo);
  facts.minor = 2;
  EXPECT_THAT(IdsOf(facts), IsEmpty());
  facts.has_append_only_file = false;
  EXPECT_THAT(IdsOf(facts), ElementsAre("!redis_not_durable"));
}

TEST(RedisFactsTest, MemoryOfOneServerIsAWarning) {
  RedisOptions options;
  options.durability = RedisDurability::kMemory;
  EXPECT_THAT(IdsOf(Good(), options), ElementsAre("redis_memory_only"));
  options.replicas = 2;
  EXPECT_THAT(IdsOf(Good(), options), IsEmpty());
  options.replicas = 3;
  EXPECT_THAT(IdsOf(Good(), options), ElementsAre("redis_replicas_missing"));
}

TEST(RedisFactsTest, SaysThatStreamsAreEvicted) {
  RedisFacts facts = Good();
  facts.eviction = "allkeys-lru";
  EXPECT_THAT(IdsOf(facts), IsEmpty());  // there is no limit
  facts.max_memory_bytes = 1;
  EXPECT_THAT(IdsOf(facts), ElementsAre("redis_evicts_streams"));
}

TEST(RedisFactsTest, OtherServersAreRefused) {
  RedisFacts facts = Good();
  facts.is_master = false;
  EXPECT_THAT(IdsOf(facts), ElementsAre("!redis_replica"));
  facts = Good();
  facts.is_cluster = true;
  EXPECT_THAT(IdsOf(facts), ElementsAre("!redis_is_cluster"));
  facts = Good();
  facts.major = 6;
  EXPECT_THAT(IdsOf(facts), ElementsAre("!redis_version_unsupported"));
}

}  // namespace
}  // namespace walpost
