#include "verify/topic_limits.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

const TopicConfig kWeek = {{"cleanup.policy", "delete"},
                           {"retention.ms", "604800000"},
                           {"retention.bytes", "1000"}};

std::string Said(const TopicLimits& limits, const RowsForTopic& rows) {
  std::string text;
  for (const Finding& finding :
       DescribeDeletions(limits, rows, Severity::kWarning, "broker:9092")) {
    text +=
        finding.id.text() + ": " + finding.text + "; " + finding.remedy + "\n";
  }
  return text;
}

TEST(TopicLimitsTest, CountsOnlyWithDelete) {
  TopicConfig config = kWeek;
  EXPECT_EQ(ParseTopicLimits("t", 4, config).retention_ms, 604'800'000);
  config["cleanup.policy"] = "compact";
  EXPECT_EQ(ParseTopicLimits("t", 4, config).retention_ms, -1);
  EXPECT_TRUE(ParseTopicLimits("t", 4, config).is_compacted());
  config["cleanup.policy"] = "compact,delete";
  EXPECT_EQ(ParseTopicLimits("t", 4, config).retention_bytes, 1000);
  EXPECT_EQ(ParseTopicLimits("t", 4, {}).retention_ms, -1);
}

TEST(TopicLimitsTest, NamesRowsThatAreTooOld) {
  const TopicLimits limits = ParseTopicLimits("t", 4, kWeek);
  const RowsForTopic rows{"public.outbox", "created_at", 30, 0};
  const std::string said = Said(limits, rows);
  EXPECT_NE(said.find("records_older_than_retention: has "
                      "retention.ms=604800000 (7 d), and 30 rows of table "
                      "public.outbox are older by column created_at"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("--entity-name t --add-config retention.ms=-1"),
            std::string::npos);
}

TEST(TopicLimitsTest, SaysNothingOfNewRecords) {
  const TopicLimits limits = ParseTopicLimits("t", 4, kWeek);
  EXPECT_EQ(Said(limits, {"public.outbox", "", std::nullopt, 4000}), "");
  EXPECT_EQ(Said(limits, {"public.outbox", "created_at", 0, 4000}), "");
}

TEST(TopicLimitsTest, NamesRowsThatAreRefused) {
  TopicConfig config = kWeek;
  config["message.timestamp.before.max.ms"] = "9223372036854775807";
  EXPECT_EQ(ParseTopicLimits("t", 4, config).accepted_age_ms, -1);
  config["message.timestamp.before.max.ms"] = "86400000";
  const RowsForTopic rows{"public.outbox", "created_at", 0, 0, 3};
  const std::string said = Said(ParseTopicLimits("t", 4, config), rows);
  EXPECT_NE(said.find("records_too_old_for_topic: has "
                      "message.timestamp.before.max.ms=86400000 (1 d), and 3 "
                      "rows of table public.outbox are older"),
            std::string::npos)
      << said;
}

TEST(TopicLimitsTest, TheTimeOfArrivalIsNotThatOfTheRow) {
  TopicConfig config = kWeek;
  config["message.timestamp.before.max.ms"] = "86400000";
  config["message.timestamp.type"] = "LogAppendTime";
  const TopicLimits limits = ParseTopicLimits("t", 4, config);
  EXPECT_EQ(Said(limits, {"public.outbox", "created_at", 30, 0, 30}), "");
  EXPECT_EQ(limits.retention_ms, 604'800'000);
}

TEST(TopicLimitsTest, NewTopicsHaveTheSettingsOfTheBroker) {
  TopicConfig broker = {{"log.cleanup.policy", "delete"},
                        {"log.retention.hours", "168"},
                        {"log.retention.bytes", "1000"}};
  const auto limits_of = [&] {
    return LimitsOfNewTopic("t", broker, std::nullopt);
  };
  EXPECT_FALSE(limits_of().exists);
  EXPECT_EQ(limits_of().cleanup_policy, "delete");
  EXPECT_EQ(limits_of().retention_ms, 604'800'000);
  EXPECT_EQ(limits_of().retention_bytes, 1000);
  EXPECT_EQ(limits_of().partitions, 1);
  broker["num.partitions"] = "3";
  EXPECT_EQ(limits_of().partitions, 3);
  broker["log.retention.minutes"] = "1";
  EXPECT_EQ(limits_of().retention_ms, 60'000);
  broker["log.retention.ms"] = "-1";
  EXPECT_EQ(limits_of().retention_ms, -1);
  broker.clear();
  EXPECT_EQ(limits_of().cleanup_policy, "");
}

TEST(TopicLimitsTest, CreateTopicsIsAboveTheBroker) {
  const TopicConfig broker = {{"log.cleanup.policy", "delete"},
                              {"log.retention.ms", "1000"},
                              {"num.partitions", "3"}};
  TopicCreation creation;
  creation.config = {{"retention.ms", "5000"}};
  TopicLimits limits = LimitsOfNewTopic("t", broker, creation);
  EXPECT_EQ(limits.retention_ms, 5000);
  EXPECT_EQ(limits.partitions, 3) << "the brokers' choice";
  creation.partitions = 7;
  EXPECT_EQ(LimitsOfNewTopic("t", broker, creation).partitions, 7);
}

TEST(TopicLimitsTest, ATopicThatDoesNotExistIsCreatedWithAnotherSetting) {
  TopicLimits limits = ParseTopicLimits("t", 4, kWeek);
  limits.exists = false;
  const std::string said = Said(limits, {"public.outbox", "created_at", 30, 0});
  EXPECT_NE(said.find("would be created with retention.ms=604800000"),
            std::string::npos);
  EXPECT_NE(said.find("kafka-topics.sh --bootstrap-server broker:9092 --create "
                      "--topic t --config retention.ms=-1"),
            std::string::npos)
      << said;
}

TEST(TopicLimitsTest, NamesRowsWithoutAKey) {
  const RowsForTopic rows{"public.outbox", "", 0, 0, 0, 3};
  EXPECT_EQ(Said(ParseTopicLimits("t", 4, kWeek), rows), "");
  const TopicConfig compacted = {{"cleanup.policy", "compact,delete"}};
  EXPECT_NE(Said(ParseTopicLimits("t", 4, compacted), rows)
                .find("cleanup.policy=compact,delete, and 3 rows of table "
                      "public.outbox have no key: the brokers refuse"),
            std::string::npos);
}

TEST(TopicLimitsTest, RowsWhoseKeysAreNotCountedMayHaveNone) {
  const RowsForTopic rows{"public.outbox", "", 0, 0, 0, std::nullopt};
  EXPECT_NE(
      Said(ParseTopicLimits("t", 4, {{"cleanup.policy", "compact"}}), rows)
          .find("how many rows of table public.outbox have no key is not "
                "known"),
      std::string::npos);
}

TEST(TopicLimitsTest, SaysThatRowsAreNotCounted) {
  const TopicLimits limits = ParseTopicLimits("t", 4, kWeek);
  const RowsForTopic rows{"public.outbox", "created_at", std::nullopt, 0};
  EXPECT_NE(Said(limits, rows).find("and rows of table public.outbox"),
            std::string::npos);
}

TEST(TopicLimitsTest, NamesWhatIsTooLarge) {
  const TopicLimits limits = ParseTopicLimits("t", 4, kWeek);
  const std::string said = Said(limits, {"public.outbox", "", 0, 4001});
  EXPECT_NE(said.find("retention.bytes=1000 for each of 4 partitions"),
            std::string::npos)
      << said;
}

TEST(TopicLimitsTest, SpellsAges) {
  EXPECT_EQ(AgeText(604'800'000), "7 d");
  EXPECT_EQ(AgeText(129'600'000), "36 h");
  EXPECT_EQ(AgeText(90'000), "90 s");
  EXPECT_EQ(AgeText(500), "500 ms");
}

}  // namespace
}  // namespace walpost
