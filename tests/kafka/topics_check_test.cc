#include "kafka/checks/topics_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kForbidden = RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
constexpr auto kMissing = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;

TopicRights Rights(std::set<rd_kafka_AclOperation_t> operations) {
  return {RD_KAFKA_RESP_ERR_NO_ERROR, "", std::move(operations)};
}

TopicRights Everything() {
  return Rights({RD_KAFKA_ACL_OPERATION_WRITE, RD_KAFKA_ACL_OPERATION_READ,
                 RD_KAFKA_ACL_OPERATION_DESCRIBE,
                 RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS});
}

TopicRights SeenOnly() { return Rights({RD_KAFKA_ACL_OPERATION_DESCRIBE}); }

const KafkaUser kUser{"b:9092", "relay"};

TEST(TopicsCheckTest, TopicsThatMayNotBeSeenAreAnErrorAndNotMissing) {
  TopicFacts facts;
  facts.names = {"outbox.event.", false};
  facts.describe_error = kForbidden;
  const std::vector<Finding> found = CheckTopics(facts, kUser);
  ASSERT_NE(FirstError(found), nullptr);
  EXPECT_EQ(found[0].id, FindingId("topic_forbidden"));
  EXPECT_THAT(found[0].text, Not(HasSubstr("none exists")));
  EXPECT_EQ(found[0].remedy,
            "kafka-acls.sh --bootstrap-server b:9092 --add --allow-principal "
            "'User:relay' --operation Write --operation Describe --topic "
            "'outbox.event.' --resource-pattern-type prefixed");
}

TEST(TopicsCheckTest, TheRightToCreateCountsWhereBrokersCreate) {
  TopicFacts facts;
  facts.names = {"t.", false};
  facts.describe_error = kMissing;
  facts.create_error = kForbidden;
  facts.brokers_create = true;
  EXPECT_NE(FirstError(CheckTopics(facts, kUser)), nullptr);
  facts.topics["t.a"] = Everything();
  EXPECT_EQ(FirstError(CheckTopics(facts, kUser)), nullptr);
  facts.topics.clear();
  facts.brokers_create = false;
  EXPECT_EQ(CheckTopics(facts, kUser)[0].severity, Severity::kWarning);
  EXPECT_EQ(CheckTopics(facts, kUser)[0].id, FindingId("topic_missing"));
}

TEST(TopicsCheckTest, TheRightToCreateCountsWhereWalpostCreates) {
  TopicFacts facts;
  facts.names = {"t.", false};
  facts.names.creation.emplace();
  facts.describe_error = kMissing;
  facts.create_error = kForbidden;
  ASSERT_NE(FirstError(CheckTopics(facts, kUser)), nullptr);
  EXPECT_EQ(CheckTopics(facts, kUser)[0].id,
            FindingId("topic_create_forbidden"));
  facts.create_error = RD_KAFKA_RESP_ERR_NO_ERROR;
  const std::vector<Finding> found = CheckTopics(facts, kUser);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kOk);
  EXPECT_EQ(found[0].id, FindingId("topics_created_by_walpost"));
  EXPECT_THAT(found[0].text, HasSubstr("walpost creates others"));
}

TEST(TopicsCheckTest, SettingsThatTheBrokersRefuseAreAnErrorOfNewTopics) {
  TopicFacts facts;
  facts.names = {"t.", false};
  facts.names.creation.emplace();
  facts.describe_error = kMissing;
  facts.create_refusal = "only 1 broker";
  std::vector<Finding> found = CheckTopics(facts, kUser);
  EXPECT_EQ(found[0].severity, Severity::kError);
  EXPECT_THAT(found[0].text, HasSubstr("as create_topics says: only 1 broker"));
  facts.topics["t.a"] = Everything();
  found = CheckTopics(facts, kUser);
  EXPECT_EQ(FirstError(found), nullptr);
  EXPECT_EQ(found[0].id, FindingId("topic_creation_refused"));
  facts.topics.clear();
  facts.names.creation.reset();
  facts.brokers_create = true;
  found = CheckTopics(facts, kUser);
  EXPECT_EQ(found[0].severity, Severity::kError);
  EXPECT_THAT(found[0].text, HasSubstr("with their own defaults"));
}

TEST(TopicsCheckTest, ATopicIsComparedWithHowItWouldBeCreated) {
  const TopicCreation wanted{
      6, 3, {{"retention.ms", "-1"}, {"cleanup.policy", "delete"}}};
  TopicShape shape{
      "t", 6, 3, {{"retention.ms", "-1"}, {"cleanup.policy", "delete"}}};
  EXPECT_TRUE(CheckShape(shape, wanted, kUser).empty());
  // What is not known, and what nobody asked for, does not differ.
  shape.settings.clear();
  EXPECT_TRUE(CheckShape(shape, wanted, kUser).empty());
  EXPECT_TRUE(CheckShape({"t", 9, 9, {}}, TopicCreation(), kUser).empty());
  shape = {"t", 4, 1, {{"retention.ms", "604800000"}}};
  const Findings found = CheckShape(shape, wanted, kUser);
  ASSERT_EQ(found.size(), 3u);
  for (const Finding& finding : found) {
    EXPECT_EQ(finding.severity, Severity::kWarning);
    EXPECT_EQ(finding.subject, "topic t");
  }
  EXPECT_EQ(found[0].id, FindingId("topic_partitions_differ"));
  EXPECT_EQ(found[1].id, FindingId("topic_replicas_differ"));
  EXPECT_EQ(found[2].id, FindingId("topic_setting_differs"));
  EXPECT_EQ(found[0].text, "has partitions=4, and create_topics says 6");
  EXPECT_EQ(found[1].text, "has replicas=1, and create_topics says 3");
  EXPECT_EQ(found[2].text,
            "has retention.ms=604800000, and create_topics says -1");
  EXPECT_THAT(found[2].remedy, HasSubstr("--add-config retention.ms=-1"));
}

TEST(TopicsCheckTest, OneTopicOfSeveralThatMayNotBeWrittenIsAWarning) {
  TopicFacts facts;
  facts.names = {"t.", false};
  facts.topics["t.a"] = Everything();
  facts.topics["t.b"] = SeenOnly();
  const std::vector<Finding> found = CheckTopics(facts, kUser);
  EXPECT_EQ(FirstError(found), nullptr);
  EXPECT_EQ(found.back().severity, Severity::kWarning);
  EXPECT_EQ(found.back().id, FindingId("topic_not_writable"));
  EXPECT_THAT(found.back().remedy, HasSubstr("--topic 't.b'"));
  facts.topics["t.a"] = SeenOnly();
  const std::vector<Finding> none = CheckTopics(facts, kUser);
  ASSERT_NE(FirstError(none), nullptr);
  EXPECT_EQ(FirstError(none)->id, FindingId("topic_not_writable"));
  EXPECT_THAT(FirstError(none)->text, HasSubstr("t.a and 1 more"));
}

TEST(TopicsCheckTest, ATopicThatMayNotBeReadIsANote) {
  TopicFacts facts;
  facts.names = {"t", true};
  facts.topics["t"] =
      Rights({RD_KAFKA_ACL_OPERATION_WRITE, RD_KAFKA_ACL_OPERATION_DESCRIBE});
  const std::vector<Finding> found = CheckTopics(facts, kUser);
  EXPECT_EQ(found.back().severity, Severity::kNote);
  EXPECT_EQ(found.back().id, FindingId("topic_not_readable"));
  EXPECT_THAT(found.back().remedy, HasSubstr("--operation Read --topic 't'"));
}

TEST(TopicsCheckTest, OfATemplateThatBeginsWithAColumnNoRightIsJudged) {
  TopicFacts facts;
  facts.topics["somebody.elses"] = SeenOnly();
  facts.describe_error = kForbidden;
  const std::vector<Finding> found = CheckTopics(facts, kUser);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kNote);
  EXPECT_EQ(found[0].id, FindingId("topics_not_tested"));
  EXPECT_EQ(found[0].remedy, "");
}

TEST(TopicsCheckTest, TheTopicOfTheCheckpointNamesTheRightsThatItLacks) {
  TopicRights rights = Everything();
  EXPECT_EQ(CheckCheckpointTopic("c", rights, kMissing, kUser)[0].severity,
            Severity::kOk);
  rights.operations.erase(RD_KAFKA_ACL_OPERATION_READ);
  EXPECT_THAT(CheckCheckpointTopic("c", rights, kMissing, kUser)[0].text,
              HasSubstr("lacks rights: Read"));
  TopicRights blind = Everything();
  blind.operations.erase(RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS);
  EXPECT_EQ(CheckCheckpointTopic("c", blind, kMissing, kUser)[0].severity,
            Severity::kWarning);
  EXPECT_EQ(CheckCheckpointTopic("c", blind, kMissing, kUser)[0].id,
            FindingId("checkpoint_topic_rights_missing"));
  rights.error = kMissing;
  EXPECT_EQ(
      CheckCheckpointTopic("c", rights, RD_KAFKA_RESP_ERR_NO_ERROR, kUser)[0]
          .severity,
      Severity::kNote);
  EXPECT_EQ(CheckCheckpointTopic("c", rights, kForbidden, kUser)[0].severity,
            Severity::kError);
  EXPECT_EQ(CheckCheckpointTopic("c", rights, kForbidden, kUser)[0].id,
            FindingId("checkpoint_topic_rights_missing"));
}

}  // namespace
}  // namespace walpost
