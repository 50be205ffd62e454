#include "verify/topic_prefixes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

OutboxOptions With(std::string topic, NameRule names) {
  OutboxOptions outbox;
  outbox.route.topic = std::move(topic);
  outbox.route.names = names;
  outbox.tables.emplace_back();
  outbox.dead_letter.topic = "";
  return outbox;
}

TEST(TopicPrefixesTest, EndBeforeTheFirstColumn) {
  EXPECT_THAT(TopicPrefixes(With("a.{id}", NameRule::kKafka)),
              ElementsAre("a."));
  EXPECT_THAT(TopicPrefixes(With("{id}", NameRule::kKafka)), IsEmpty());
  EXPECT_TRUE(HasTopicsOfAnyName(With("{id}", NameRule::kKafka)));
}

TEST(TopicPrefixesTest, HaveTheBracesOfTheName) {
  const OutboxOptions outbox = With("\\{shop\\}.{id}", NameRule::kOthers);
  EXPECT_THAT(TopicPrefixes(outbox), ElementsAre("{shop}."));
  EXPECT_FALSE(HasTopicsOfAnyName(outbox));
}

TEST(TopicPrefixesTest, ThoseOfDeadLettersAreAdded) {
  OutboxOptions outbox = With("a.{id}", NameRule::kOthers);
  outbox.dead_letter.topic = "\\{dead\\}.{error_class}";
  EXPECT_THAT(TopicPrefixesWithDeadLetters(outbox),
              ElementsAre("a.", "{dead}."));
}

}  // namespace
}  // namespace walpost
